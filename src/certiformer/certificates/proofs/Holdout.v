(* Exact hold-out limits, from the draw of one example to the coverage of the limit.

   1. A law is the expectation of one draw; n independent draws are the iterated expectation.
   2. The number of errors among n draws has the binomial tail F n k p = P(Bin(n, p) <= k).
   3. F decreases in p, so {p : F n k p > delta} is an interval [0, u); it misses the true risk with probability at
      most delta. This is coverage, the theorem behind every hold-out certificate.
   4. F n k p is the sum of C(n, i) p^i (1 - p)^(n - i) for i up to k: the form that Check.v computes.

   Only the standard library is used, and of its axioms only those on which Coq's real numbers rest. *)
From Coq Require Import Reals Lra Lia List Bool Arith ZArith.
Import ListNotations.
Local Open Scope R_scope.

Definition ind (b : bool) : R := if b then 1 else 0.

(* 1. One draw, as its expectation: extensional, linear, monotone, and E 1 = 1.

   Every distribution of finite support is such a law (finite in Uses.v builds it from its weights). One of infinite
   support is not, because here all functions have an expectation, the unbounded ones too. Nothing is lost: of an
   example only the verdicts count, that is which of the K models err on it. So X is to be read as the set of verdicts
   (bool for one model, bool^K for K of them), and D as the law of the verdicts, whatever the examples are drawn from. *)
Record law (X : Type) := {
  ex :> (X -> R) -> R;
  ex_ext : forall f g, (forall x, f x = g x) -> ex f = ex g;
  ex_add : forall f g, ex (fun x => f x + g x) = ex f + ex g;
  ex_mul : forall c f, ex (fun x => c * f x) = c * ex f;
  ex_one : ex (fun _ => 1) = 1;
  ex_le : forall f g, (forall x, f x <= g x) -> ex f <= ex g }.
Arguments ex {X}. Arguments ex_ext {X}. Arguments ex_add {X}. Arguments ex_mul {X}. Arguments ex_one {X}.
Arguments ex_le {X}.

(* n independent draws, the probability of an event about them, the risk (the probability of an error at one draw),
   and the number of errors in a sample. *)
Fixpoint draws {X} (D : law X) (n : nat) (g : list X -> R) : R :=
  match n with O => g nil | S m => D (fun x => draws D m (fun s => g (x :: s))) end.
Definition prob {X} (D : law X) n (e : list X -> bool) : R := draws D n (fun s => ind (e s)).
Definition risk {X} (D : law X) (err : X -> bool) : R := D (fun x => ind (err x)).
Fixpoint count {X} (err : X -> bool) (s : list X) : nat :=
  match s with nil => O | x :: r => if err x then S (count err r) else count err r end.

Section Law.
Context {X : Type} (D : law X).

Lemma ex_const c : D (fun _ => c) = c.
Proof.
  rewrite (ex_ext D _ (fun _ => c * 1)) by (intro; ring).
  rewrite (ex_mul D c (fun _ => 1)), ex_one; ring.
Qed.
Lemma ex_two err a b : D (fun x => if err x : bool then a else b) = risk D err * a + (1 - risk D err) * b.
Proof.
  rewrite (ex_ext D _ (fun x => (a - b) * ind (err x) + b * 1)) by (intro x; destruct (err x); simpl; ring).
  rewrite ex_add, ex_mul, (ex_mul D b (fun _ => 1)), ex_one. unfold risk; ring.
Qed.
Lemma risk_range err : 0 <= risk D err <= 1.
Proof.
  split; unfold risk; [rewrite <- (ex_const 0) | rewrite <- (ex_const 1)]; apply ex_le; intro x;
    destruct (err x); simpl; lra.
Qed.
Lemma draws_ext n : forall f g, (forall s, length s = n -> f s = g s) -> draws D n f = draws D n g.
Proof.
  induction n; simpl; intros f g H; [now apply H|].
  apply ex_ext; intro x; apply IHn; intros s L; apply H; simpl; now rewrite L.
Qed.
Lemma draws_le n : forall f g, (forall s, length s = n -> f s <= g s) -> draws D n f <= draws D n g.
Proof.
  induction n; simpl; intros f g H; [now apply H|].
  apply ex_le; intro x; apply IHn; intros s L; apply H; simpl; now rewrite L.
Qed.
Lemma draws_add n : forall f g, draws D n (fun s => f s + g s) = draws D n f + draws D n g.
Proof.
  induction n; simpl; intros f g; [reflexivity|].
  rewrite <- ex_add; apply ex_ext; intro x; now rewrite IHn.
Qed.
Lemma draws_const n c : draws D n (fun _ => c) = c.
Proof. induction n; simpl; [reflexivity|]. rewrite (ex_ext D _ (fun _ => c)) by (intro; apply IHn). apply ex_const. Qed.
Lemma count_length err (s : list X) : (count err s <= length s)%nat.
Proof. induction s; simpl; [lia|]; destruct (err a); lia. Qed.
Lemma draws_mul n c : forall f, draws D n (fun s => c * f s) = c * draws D n f.
Proof.
  induction n; simpl; intros f; [reflexivity|]. rewrite <- ex_mul. apply ex_ext. intro x. now rewrite IHn.
Qed.
(* An event that implies another is not more probable. *)
Lemma risk_le (e f : X -> bool) : (forall x, e x = true -> f x = true) -> risk D e <= risk D f.
Proof.
  intro H. apply ex_le. intro x. specialize (H x). destruct (e x), (f x); simpl;
    first [discriminate (H eq_refl) | lra].
Qed.
(* Boole: the probability that one of two events happens, or one of several, is at most the sum. *)
Lemma risk_or (e f : X -> bool) : risk D (fun x => e x || f x) <= risk D e + risk D f.
Proof. unfold risk. rewrite <- ex_add. apply ex_le. intro x. destruct (e x), (f x); simpl; lra. Qed.
Fixpoint some (es : list (X -> bool)) (x : X) : bool := match es with nil => false | e :: r => e x || some r x end.
Fixpoint sum (l : list R) : R := match l with nil => 0 | x :: r => x + sum r end.
Lemma some_in es e x : In e es -> e x = true -> some es x = true.
Proof.
  induction es as [|f es IH]; simpl; [easy|]. intros [E|I] T; [subst; now rewrite T|].
  rewrite (IH I T). apply orb_true_r.
Qed.
Theorem union es ds : Forall2 (fun e d => risk D e <= d) es ds -> risk D (some es) <= sum ds.
Proof.
  induction 1 as [|e d es ds H _ IH]; simpl; [unfold risk; simpl; rewrite ex_const; lra|].
  eapply Rle_trans; [apply risk_or|]. lra.
Qed.
End Law.

(* A sample of n draws is itself one draw from a law: what holds of laws holds of samples. Likewise a pair of samples. *)
Definition sample {X} (D : law X) (n : nat) : law (list X).
Proof.
  refine {| ex := draws D n |}.
  - intros f g H. apply draws_ext. intros s _. apply H.
  - apply draws_add.
  - apply draws_mul.
  - apply draws_const.
  - intros f g H. apply draws_le. intros s _. apply H.
Defined.
Definition both {X Y} (D : law X) (E : law Y) : law (X * Y).
Proof.
  refine {| ex := fun f => D (fun x => E (fun y => f (x, y))) |}.
  - intros f g H. apply ex_ext. intro x. apply ex_ext. intro y. apply H.
  - intros f g. rewrite <- ex_add. apply ex_ext. intro x. apply ex_add.
  - intros c f. rewrite <- ex_mul. apply ex_ext. intro x. apply ex_mul.
  - rewrite (ex_ext D _ (fun _ => 1)) by (intro; apply ex_one). apply ex_one.
  - intros f g H. apply ex_le. intro x. apply ex_le. intro y. apply H.
Defined.
Lemma both_first {X Y} (D : law X) (E : law Y) e : risk (both D E) (fun z => e (fst z)) = risk D e.
Proof. unfold risk; simpl. apply ex_ext. intro x. apply ex_const. Qed.
Lemma both_second {X Y} (D : law X) (E : law Y) e : risk (both D E) (fun z => e (snd z)) = risk E e.
Proof. unfold risk; simpl. apply ex_const. Qed.

(* 2. The tail P(Bin(n, p) <= k), by recursion on n: the first draw is an error or it is not. *)
Fixpoint F (n k : nat) (p : R) : R :=
  match n with
  | O => 1
  | S m => match k with O => (1 - p) * F m O p | S j => p * F m j p + (1 - p) * F m k p end
  end.

Lemma F_prob {X} (D : law X) err n : forall k, prob D n (fun s => (count err s <=? k)%nat) = F n k (risk D err).
Proof.
  unfold prob; induction n; intros k; [reflexivity|]. cbn [draws F].
  rewrite (ex_ext D _ (fun x => if err x then match k with O => 0 | S j => F n j (risk D err) end
                                else F n k (risk D err))).
  - rewrite ex_two. destruct k; ring.
  - intro x. cbn [count]. destruct (err x); [|apply IHn]. destruct k; [|apply IHn].
    rewrite <- (draws_const D n 0). apply draws_ext. reflexivity.
Qed.

(* The tail is a probability; it grows with k and falls with p, both by induction on n. *)
Lemma F_range n p : 0 <= p <= 1 -> forall k, 0 <= F n k p <= 1.
Proof.
  intro P; induction n; intro k; simpl; [lra|].
  destruct k; [specialize (IHn O) | pose proof (IHn k); specialize (IHn (S k))]; nra.
Qed.
Lemma F_up n p : 0 <= p <= 1 -> forall k, F n k p <= F n (S k) p.
Proof.
  intro P; induction n; intro k; [simpl; lra|]. destruct k.
  - cbn [F]. specialize (IHn O). pose proof (F_range n p P O). nra.
  - cbn [F]. pose proof (IHn k). specialize (IHn (S k)). nra.
Qed.
Lemma F_down p q : 0 <= p <= q -> q <= 1 -> forall n k, F n k q <= F n k p.
Proof.
  intros P Q; induction n; intro k; [simpl; lra|]. destruct k; cbn [F].
  - specialize (IHn O). pose proof (F_range n p ltac:(lra) O). pose proof (F_range n q ltac:(lra) O). nra.
  - pose proof (IHn k). specialize (IHn (S k)). pose proof (F_up n p ltac:(lra) k).
    (* q F_k(q) + (1-q) F_k+1(q) <= q F_k(p) + (1-q) F_k+1(p) <= p F_k(p) + (1-p) F_k+1(p) *)
    apply Rle_trans with (q * F n k p + (1 - q) * F n (S k) p); [|nra].
    apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.

(* 3. Coverage. The test rejects a rate p after k errors if so few have probability at most delta at p. *)
Definition rejects n k p delta : bool := if Rle_dec (F n k p) delta then true else false.

Lemma last_true (P : nat -> bool) n :
  (forall i, (i <= n)%nat -> P i = false) \/
  exists K, P K = true /\ forall i, (i <= n)%nat -> P i = true -> (i <= K)%nat.
Proof.
  induction n.
  - destruct (P O) eqn:H; [right; exists O; split; [exact H|lia] | left; intros i I].
    now replace i with O by lia.
  - destruct (P (S n)) eqn:H; [right; exists (S n); split; [exact H|lia]|].
    destruct IHn as [N|[K [T M]]]; [left|right; exists K; split; [exact T|]]; intros i I.
    + destruct (Nat.eq_dec i (S n)); [now subst|apply N; lia].
    + intro Q. destruct (Nat.eq_dec i (S n)); [subst; congruence|apply M; [lia|exact Q]].
Qed.

(* The true risk is rejected with probability at most delta, whatever the law, the model and n. With K the largest
   number of errors that rejects it, the event is {count <= K}, whose probability is F n K (risk) <= delta.
   The rates that are not rejected are the confidence set; a limit is a number above all of it. No rule need be
   computed at any other number of errors than the one that was counted. *)
Theorem coverage {X} (D : law X) err n delta : 0 <= delta ->
  prob D n (fun s => rejects n (count err s) (risk D err) delta) <= delta.
Proof.
  intro Hd. destruct (last_true (fun k => rejects n k (risk D err) delta) n) as [N|[K [T M]]].
  - apply Rle_trans with 0; [|exact Hd]. rewrite <- (draws_const D n 0). apply draws_le. intros s L.
    rewrite N; [simpl; lra|]. rewrite <- L. apply count_length.
  - apply Rle_trans with (F n K (risk D err)).
    + rewrite <- F_prob. apply draws_le. intros s L.
      destruct (rejects n (count err s) (risk D err) delta) eqn:R; simpl.
      * assert (C : (count err s <= K)%nat) by (apply M; [rewrite <- L; apply count_length|exact R]).
        apply Nat.leb_le in C. rewrite C. simpl; lra.
      * destruct (count err s <=? K)%nat; simpl; lra.
    + unfold rejects in T. destruct (Rle_dec (F n K (risk D err)) delta); [assumption|discriminate].
Qed.

(* Any rule whose limits pass the inequality covers; it need not be monotone in k. *)
Theorem rule_covers {X} (D : law X) err n delta (upper : nat -> R) : 0 <= delta ->
  (forall k, (k <= n)%nat -> 0 <= upper k /\ (upper k < 1 -> F n k (upper k) <= delta)) ->
  prob D n (fun s => if Rlt_dec (upper (count err s)) (risk D err) then true else false) <= delta.
Proof.
  intros Hd H. apply Rle_trans with (2 := coverage D err n delta Hd). apply draws_le. intros s L.
  pose proof (risk_range D err) as P.
  destruct (Rlt_dec (upper (count err s)) (risk D err)) as [l|l]; simpl.
  - destruct (H (count err s)) as [H0 H1]; [rewrite <- L; apply count_length|].
    unfold rejects. destruct (Rle_dec (F n (count err s) (risk D err)) delta) as [r|r]; [simpl; lra|exfalso; apply r].
    apply Rle_trans with (F n (count err s) (upper (count err s))); [apply F_down; lra|apply H1; lra].
  - destruct (rejects n (count err s) (risk D err) delta); simpl; lra.
Qed.

(* 4. The closed form, with the binomial coefficients of Pascal's triangle. *)
Fixpoint binom (n i : nat) : Z :=
  match n, i with
  | _, O => 1%Z
  | O, S _ => 0%Z
  | S m, S j => (binom m j + binom m (S j))%Z
  end.
Lemma binom_0 n : binom n 0 = 1%Z. Proof. now destruct n. Qed.
Lemma binom_big n : forall i, (n < i)%nat -> binom n i = 0%Z.
Proof. induction n; intros i H; destruct i; try lia; simpl; [reflexivity|]. rewrite !IHn by lia. reflexivity. Qed.
Lemma absorb n : forall i, (Z.of_nat (S i) * binom n (S i) = (Z.of_nat n - Z.of_nat i) * binom n i)%Z.
Proof.
  induction n; intro i.
  - destruct i; cbn -[Z.of_nat Z.mul]; lia.
  - destruct i.
    + cbn [binom]. rewrite binom_0. pose proof (IHn O) as A. rewrite binom_0 in A. lia.
    + change (binom (S n) (S (S i))) with (binom n (S i) + binom n (S (S i)))%Z.
      change (binom (S n) (S i)) with (binom n i + binom n (S i))%Z.
      pose proof (IHn (S i)) as A. pose proof (IHn i) as B. nia.
Qed.
Definition term n i p : R := IZR (binom n i) * p ^ i * (1 - p) ^ (n - i).
Fixpoint total n k p : R := match k with O => term n O p | S j => total n j p + term n k p end.
Lemma term_0 n p : term (S n) O p = (1 - p) * term n O p.
Proof. unfold term. rewrite !binom_0, !Nat.sub_0_r. simpl. ring. Qed.
Lemma term_S n i p : term (S n) (S i) p = p * term n i p + (1 - p) * term n (S i) p.
Proof.
  unfold term. cbn [binom]. rewrite plus_IZR. replace (S n - S i)%nat with (n - i)%nat by lia.
  destruct (le_lt_dec (S i) n).
  - replace (n - i)%nat with (S (n - S i)) by lia. simpl. ring.
  - rewrite (binom_big n (S i)) by lia. simpl. ring.
Qed.
Theorem F_closed n p : forall k, F n k p = total n k p.
Proof.
  induction n; intro k.
  - simpl. induction k; simpl; [unfold term; simpl; ring|]. rewrite <- IHk. unfold term; simpl; ring.
  - destruct k; cbn [F total].
    + rewrite IHn. cbn [total]. now rewrite term_0.
    + rewrite !IHn. induction k.
      * cbn [total]. rewrite term_0, term_S. ring.
      * cbn [total] in *. rewrite term_S. rewrite (term_S n (S k)). rewrite term_S in IHk. lra.
Qed.
