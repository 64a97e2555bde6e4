(* What the coverage of one limit gives: the best of K models, lower limits, transfer by disagreement, the sign test. *)
From Coq Require Import Reals Lra Lia List Bool Arith ZArith.
From Certiformer Require Import Holdout.
Import ListNotations.
Local Open Scope R_scope.

(* 1. Every distribution of finite support is a law: weights that are not negative and sum to one. *)
Fixpoint wsum {X} (l : list (R * X)) (f : X -> R) : R :=
  match l with nil => 0 | (w, x) :: r => w * f x + wsum r f end.
Definition finite {X} (l : list (R * X)) (nonneg : forall w x, In (w, x) l -> 0 <= w)
  (one : wsum l (fun _ => 1) = 1) : law X.
Proof.
  refine {| ex := wsum l |}.
  - intros f g H. clear - H. induction l as [|[w x] r IH]; simpl; [reflexivity|]. now rewrite H, IH.
  - intros f g. clear. induction l as [|[w x] r IH]; simpl; [ring|]. rewrite IH. ring.
  - intros c f. clear. induction l as [|[w x] r IH]; simpl; [ring|]. rewrite IH. ring.
  - exact one.
  - intros f g H. clear one. induction l as [|[w x] r IH]; simpl; [lra|].
    apply Rplus_le_compat.
    + apply Rmult_le_compat_l; [apply (nonneg w x); now left|apply H].
    + apply IH. intros w' x' I. apply (nonneg w' x'). now right.
Defined.
Definition bern (p : R) (H : 0 <= p <= 1) : law bool.
Proof.
  refine (finite [(p, true); (1 - p, false)] _ _).
  - simpl. intros w x [E|[E|[]]]; inversion E; lra.
  - simpl. ring.
Defined.
Lemma bern_ex p H f : bern p H f = p * f true + (1 - p) * f false.
Proof. simpl. ring. Qed.

(* 2. Several statements, one of which is chosen after looking. If each of a list fails with probability at most d, the
   chosen one fails with probability at most d times their number. The choice may use all that was observed. *)
Theorem any_choice {Y A} (L : law Y) (fails : A -> Y -> bool) d (list_of : list A) (choose : Y -> A) :
  (forall h, In h list_of -> risk L (fails h) <= d) -> (forall y, In (choose y) list_of) ->
  risk L (fun y => fails (choose y) y) <= INR (length list_of) * d.
Proof.
  intros H C. apply Rle_trans with (risk L (some (map fails list_of))).
  - apply risk_le. intros y T. apply some_in with (fails (choose y)); [apply in_map, C|exact T].
  - clear C. induction list_of as [|h r IH].
    + simpl. unfold risk; simpl. rewrite ex_const. lra.
    + change (length (h :: r)) with (S (length r)). rewrite S_INR. simpl.
      eapply Rle_trans; [apply risk_or|]. pose proof (H h (or_introl eq_refl)).
      pose proof (IH (fun g I => H g (or_intror I))). lra.
Qed.

(* 3. Lower limits: right answers are the errors of the negation. *)
Section Lower.
Context {X : Type} (D : law X) (err : X -> bool).
Definition right x := negb (err x).
Lemma count_right s : (count right s + count err s = length s)%nat.
Proof. induction s as [|x s IH]; simpl; [reflexivity|]. unfold right at 1. destruct (err x); simpl; lia. Qed.
Lemma risk_right : risk D right = 1 - risk D err.
Proof.
  unfold risk. rewrite (ex_ext D _ (fun x => 1 * 1 + -1 * ind (err x))).
  - rewrite ex_add, !ex_mul, ex_one. ring.
  - intro x. unfold right. destruct (err x); simpl; ring.
Qed.
Theorem lower_coverage n delta : 0 <= delta ->
  prob D n (fun s => rejects n (n - count err s) (1 - risk D err) delta) <= delta.
Proof.
  intro H. eapply Rle_trans; [|apply (coverage D right n delta H)]. apply draws_le. intros s L.
  rewrite <- risk_right. replace (n - count err s)%nat with (count right s); [lra|]. pose proof (count_right s). lia.
Qed.
End Lower.

Section Pairs.
Context {X : Type} (D : law X).

(* 4. Disagreement: h errs only where h1 errs or where the two differ, so R(h) <= R(h1) + P(h <> h1). *)
Lemma transfer (eh e1 dis : X -> bool) : (forall x, eh x = true -> e1 x = true \/ dis x = true) ->
  risk D eh <= risk D e1 + risk D dis.
Proof.
  intro H. unfold risk. rewrite <- ex_add. apply ex_le. intro x. specialize (H x).
  destruct (eh x), (e1 x), (dis x); simpl; try lra; exfalso; destruct (H eq_refl) as [K|K]; discriminate K.
Qed.
Lemma ex_three a b u v w : (forall x, a x && b x = false) ->
  D (fun x => if a x : bool then u else if b x : bool then v else w) =
  risk D a * u + risk D b * v + (1 - risk D a - risk D b) * w.
Proof.
  intro H. rewrite (ex_ext D _ (fun x => ((u - w) * ind (a x) + (v - w) * ind (b x)) + w * 1)).
  - rewrite !ex_add, !ex_mul, ex_one. unfold risk; ring.
  - intro x. specialize (H x). destruct (a x), (b x); simpl in *; try discriminate; ring.
Qed.
End Pairs.

(* 5. The sign test. a x: only A errs on x; b x: only B does. Draws of three kinds (a, b, neither) are made in two
   stages: first on which examples the two differ, then who of them errs there. *)
Definition yes (x : bool) := x.
Lemma two_stage {X} (D : law X) a b P r (HP : 0 <= P <= 1) (Hr : 0 <= r <= 1) : (forall x, a x && b x = false) ->
  P * r = risk D b -> P * (1 - r) = risk D a -> forall n (h : nat -> nat -> R),
  draws D n (fun s => h (count a s) (count b s)) =
  draws (bern P HP) n (fun d => draws (bern r Hr) (count yes d) (fun s => h (count negb s) (count yes s))).
Proof.
  intros AB PB PA. induction n; intros h; [reflexivity|].
  cbn [draws]. rewrite bern_ex.
  rewrite (ex_ext D _ (fun x =>
    if a x then draws D n (fun s => h (S (count a s)) (count b s))
    else if b x then draws D n (fun s => h (count a s) (S (count b s)))
    else draws D n (fun s => h (count a s) (count b s)))).
  2:{ intro x. specialize (AB x). cbn [count]. destruct (a x), (b x); simpl in AB; try discriminate; reflexivity. }
  rewrite ex_three by exact AB.
  rewrite (IHn (fun i j => h (S i) j)), (IHn (fun i j => h i (S j))), (IHn h).
  rewrite (draws_ext (bern P HP) n (fun s => draws (bern r Hr) (count yes (true :: s)) _)
    (fun d => r * draws (bern r Hr) (count yes d) (fun s => h (count negb s) (S (count yes s)))
            + (1 - r) * draws (bern r Hr) (count yes d) (fun s => h (S (count negb s)) (count yes s)))).
  - rewrite draws_add, !draws_mul. cbn [count yes]. rewrite <- PB, <- PA.
    set (U := draws (bern P HP) n (fun d => draws (bern r Hr) (count yes d) (fun s => h (S (count negb s)) (count yes s)))).
    set (V := draws (bern P HP) n (fun d => draws (bern r Hr) (count yes d) (fun s => h (count negb s) (S (count yes s))))).
    change (draws (bern P HP) n (fun s => draws (bern r Hr) (if yes false then S (count yes s) else count yes s)
       (fun s0 => h (count negb s0) (count yes s0)))) with
      (draws (bern P HP) n (fun d => draws (bern r Hr) (count yes d) (fun s => h (count negb s) (count yes s)))).
    ring.
  - intros d _. change (count yes (true :: d)) with (S (count yes d)). cbn [draws]. rewrite bern_ex. reflexivity.
Qed.

Lemma negb_yes s : (count negb s + count yes s = length s)%nat.
Proof. induction s as [|[|] s IH]; simpl; lia. Qed.

(* If A errs no more often than B, then F m n01 (1/2), the p-value of "A is worse" from the m = n10 + n01 examples on
   which they differ, is at most delta with probability at most delta. Nothing is conditioned on. *)
Theorem sign_test {X} (D : law X) a b n delta : 0 <= delta -> (forall x, a x && b x = false) ->
  risk D a <= risk D b ->
  prob D n (fun s => rejects (count a s + count b s) (count b s) (1 / 2) delta) <= delta.
Proof.
  intros Hd AB H. pose proof (risk_range D a) as RA. pose proof (risk_range D b) as RB.
  assert (HP : 0 <= risk D a + risk D b <= 1).
  { split; [lra|]. pose proof (ex_three D a b 0 0 1 AB) as E.
    assert (0 <= D (fun x => if a x then 0 else if b x then 0 else 1)).
    { apply Rle_trans with (D (fun _ => 0)); [rewrite ex_const; lra|]. apply ex_le. intro x. destruct (a x), (b x); lra. }
    lra. }
  assert (EX : exists r, 1 / 2 <= r <= 1 /\ (risk D a + risk D b) * r = risk D b).
  { destruct (Req_dec (risk D a + risk D b) 0) as [Z|Z].
    - exists (1 / 2). split; [lra|]. rewrite Z. lra.
    - exists (risk D b / (risk D a + risk D b)). split; [|field; exact Z].
      assert (0 < risk D a + risk D b) by lra.
      assert (Q : risk D b / (risk D a + risk D b) * (risk D a + risk D b) = risk D b) by (field; exact Z).
      set (r := risk D b / (risk D a + risk D b)) in *. clearbody r. split; nra. }
  destruct EX as [r [Hr1 Hr2]]. assert (Hr : 0 <= r <= 1) by lra.
  unfold prob.
  rewrite (two_stage D a b (risk D a + risk D b) r HP Hr AB Hr2 ltac:(lra) n
             (fun i j => ind (rejects (i + j) j (1 / 2) delta))).
  apply Rle_trans with (draws (bern (risk D a + risk D b) HP) n (fun _ => delta)); [|rewrite draws_const; lra].
  apply draws_le. intros d _.
  eapply Rle_trans; [|apply (coverage (bern r Hr) yes (count yes d) delta Hd)]. apply draws_le. intros s L.
  assert (RR : risk (bern r Hr) yes = r) by (unfold risk; rewrite bern_ex; simpl; ring).
  cbv beta. rewrite RR, negb_yes, L. unfold rejects.
  destruct (Rle_dec (F (count yes d) (count yes s) (1 / 2)) delta) as [l|l].
  - destruct (Rle_dec (F (count yes d) (count yes s) r) delta) as [l'|l']; [unfold ind; lra|].
    exfalso. apply l'. eapply Rle_trans; [|exact l]. apply F_down; lra.
  - destruct (Rle_dec (F (count yes d) (count yes s) r) delta); unfold ind; lra.
Qed.

(* 6. Errors and right answers together are n, so the tail of the one is what is left of the tail of the other. *)
Lemma F_mirror n k p : 0 <= p <= 1 -> (k < n)%nat -> F n (n - S k) (1 - p) = 1 - F n k p.
Proof.
  intros P K. set (D := bern p P).
  assert (R : risk D yes = p) by (unfold risk, D; rewrite bern_ex; simpl; ring).
  pose proof (F_prob D yes n k) as A. pose proof (F_prob D (right yes) n (n - S k)) as B.
  rewrite risk_right, R in B. rewrite R in A. rewrite <- A, <- B.
  change (prob D n (fun s => (count yes s <=? k)%nat)) with (risk (sample D n) (fun s => (count yes s <=? k)%nat)).
  rewrite <- (risk_right (sample D n) (fun s => (count yes s <=? k)%nat)). apply draws_ext. intros s L. f_equal.
  unfold right at 2. pose proof (count_right yes s) as C.
  destruct (Nat.leb_spec (count (right yes) s) (n - S k)), (Nat.leb_spec (count yes s) k); simpl; try reflexivity; lia.
Qed.
