(* An upper bound of the binomial tail in whole numbers, fast enough for the kernel.

   A pair (m, e) stands for m / 2^e. (1 - p)^n is computed by squaring, then each term of the sum from the one before
   by t_{i+1} = t_i (n - i) p / ((i + 1)(1 - p)). Every operation is rounded up, and the mantissa is kept at about 97
   bits, so that the result is at least the tail, by a relative excess of about k 2^-96. check says true only if
   this bound is at most delta: true is a proof, false only means that it was not shown.
   certiformer computes the same in Python (certiformer.theory.calculus.tail_check) for every exact limit that it prints. *)
From Coq Require Import Reals Lra Lia List Bool Arith ZArith.
From Certiformer Require Import Holdout.
Local Open Scope R_scope.

(* What a pair stands for, and the roundings. *)
Definition val (m e : Z) : R := IZR m / IZR (2 ^ e).

Lemma pow2_pos e : (0 <= e)%Z -> 0 < IZR (2 ^ e).
Proof. intro. apply IZR_lt. apply Z.pow_pos_nonneg; lia. Qed.
Lemma div_up x y : (0 < y)%Z -> IZR x / IZR y <= IZR (x / y + 1).
Proof.
  intro Y. assert (0 < IZR y) by (apply IZR_lt; lia).
  apply Rmult_le_reg_r with (IZR y); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  rewrite <- mult_IZR. apply IZR_le. pose proof (Z.mul_succ_div_gt x y Y). lia.
Qed.
Lemma val_le m m' e : (0 <= e)%Z -> (m <= m')%Z -> val m e <= val m' e.
Proof.
  intros. unfold val. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, pow2_pos; lia|]. now apply IZR_le.
Qed.
Lemma shift_up m s e : (0 <= s <= e)%Z -> val m e <= val (Z.shiftr m s + 1) (e - s).
Proof.
  intro H. rewrite Z.shiftr_div_pow2 by lia. unfold val. replace e with (s + (e - s))%Z at 1 by lia.
  rewrite Z.pow_add_r by lia. rewrite mult_IZR. pose proof (pow2_pos s ltac:(lia)).
  pose proof (pow2_pos (e - s) ltac:(lia)).
  replace (IZR m / (IZR (2 ^ s) * IZR (2 ^ (e - s)))) with (IZR m / IZR (2 ^ s) / IZR (2 ^ (e - s)))
    by (field; lra).
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|]. apply div_up. apply Z.pow_pos_nonneg; lia.
Qed.

(* How many bits are beyond the 97 that are kept. *)
Definition excess (m e : Z) : Z := let s := (Z.log2 m - 96)%Z in if ((0 <=? s) && (s <=? e))%Z then s else 0%Z.
Lemma excess_range m e : (0 <= e)%Z -> (0 <= excess m e <= e)%Z.
Proof. unfold excess. destruct (_ && _)%bool eqn:H; [|lia]. apply andb_true_iff in H. lia. Qed.

(* At least (q/b)^x, by squaring. *)
Fixpoint powup (q b : Z) (x : positive) : Z * Z :=
  match x with
  | xH => ((q * 2 ^ 128 / b + 1)%Z, 128%Z)
  | xO y => let '(m, e) := powup q b y in let s := excess (m * m) (2 * e) in
            ((Z.shiftr (m * m) s + 1)%Z, (2 * e - s)%Z)
  | xI y => let '(m, e) := powup q b y in let s := excess (m * m) (2 * e) in
            (((Z.shiftr (m * m) s + 1) * q / b + 1)%Z, (2 * e - s)%Z)
  end.
Lemma square x m e : (0 <= e)%Z -> 0 <= x <= val m e ->
  let s := excess (m * m) (2 * e) in x * x <= val (Z.shiftr (m * m) s + 1) (2 * e - s).
Proof.
  intros E [X0 X] s. apply Rle_trans with (val (m * m) (2 * e)).
  - replace (val (m * m) (2 * e)) with (val m e * val m e).
    + apply Rmult_le_compat; lra.
    + unfold val. replace (2 * e)%Z with (e + e)%Z by lia. rewrite Z.pow_add_r by lia. rewrite !mult_IZR.
      pose proof (pow2_pos e E). field; lra.
  - apply shift_up. apply excess_range. lia.
Qed.
Lemma scale_up x m e u v : (0 <= e)%Z -> (0 <= u)%Z -> (0 < v)%Z -> x <= val m e ->
  x * (IZR u / IZR v) <= val (m * u / v + 1) e.
Proof.
  intros E U V X. pose proof (pow2_pos e E). assert (0 < IZR v) by (apply IZR_lt; lia).
  assert (0 <= IZR u) by (apply IZR_le; lia). assert (0 < / IZR v) by (apply Rinv_0_lt_compat; lra).
  apply Rle_trans with (val m e * (IZR u / IZR v)).
  - apply Rmult_le_compat_r; [|exact X]. apply Rmult_le_pos; lra.
  - unfold val. replace (IZR m / IZR (2 ^ e) * (IZR u / IZR v)) with (IZR (m * u) / IZR v / IZR (2 ^ e))
      by (rewrite mult_IZR; field; lra).
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|]. now apply div_up.
Qed.
Lemma powup_sound q b x : (0 <= q)%Z -> (0 < b)%Z ->
  (0 <= snd (powup q b x))%Z /\ (IZR q / IZR b) ^ Pos.to_nat x <= val (fst (powup q b x)) (snd (powup q b x)).
Proof.
  intros Q B. assert (0 < IZR b) by (apply IZR_lt; lia).
  assert (R0 : 0 <= IZR q / IZR b).
  { apply Rmult_le_pos; [apply IZR_le; lia|]. apply Rlt_le, Rinv_0_lt_compat; lra. }
  induction x as [y IH|y IH|]; cbn [powup].
  - destruct (powup q b y) as [m e]; cbn [fst snd] in *. destruct IH as [E IH].
    pose proof (excess_range (m * m) (2 * e) ltac:(lia)). split; [lia|].
    rewrite Pos2Nat.inj_xI. replace (S (2 * Pos.to_nat y)) with (Pos.to_nat y + Pos.to_nat y + 1)%nat by lia.
    rewrite !pow_add, pow_1. apply scale_up; try lia. apply square; [lia|]. split; [now apply pow_le|exact IH].
  - destruct (powup q b y) as [m e]; cbn [fst snd] in *. destruct IH as [E IH].
    pose proof (excess_range (m * m) (2 * e) ltac:(lia)). split; [lia|].
    rewrite Pos2Nat.inj_xO. replace (2 * Pos.to_nat y)%nat with (Pos.to_nat y + Pos.to_nat y)%nat by lia.
    rewrite !pow_add. apply square; [lia|]. split; [now apply pow_le|exact IH].
  - cbn [fst snd]. split; [lia|]. rewrite Pos2Nat.inj_1, pow_1.
    replace (IZR q / IZR b) with (1 * (IZR q / IZR b)) by ring.
    replace (q * 2 ^ 128)%Z with (2 ^ 128 * q)%Z by ring. apply scale_up; try lia.
    unfold val. apply Req_le. field. apply Rgt_not_eq, pow2_pos. lia.
Qed.

(* The sum of the next terms: t is the i-th, acc the sum so far. *)
Fixpoint steps (fuel : nat) (n a q i t acc e : Z) : Z * Z :=
  match fuel with
  | O => (acc, e)
  | S f => let t := (t * ((n - i) * a) / ((i + 1) * q) + 1)%Z in
           let acc := (acc + t)%Z in
           let s := excess t e in
           steps f n a q (i + 1)%Z (Z.shiftr t s + 1)%Z (Z.shiftr acc s + 1)%Z (e - s)%Z
  end.

Lemma term_step n i a b : (i < n)%nat -> (0 < a < b)%Z ->
  term n (S i) (IZR a / IZR b) =
  term n i (IZR a / IZR b) * (IZR ((Z.of_nat n - Z.of_nat i) * a) / IZR ((Z.of_nat i + 1) * (b - a))).
Proof.
  intros I A. set (p := IZR a / IZR b).
  assert (B : 0 < IZR b) by (apply IZR_lt; lia).
  assert (Q : 0 < IZR (b - a)) by (apply IZR_lt; lia).
  assert (P : 1 - p = IZR (b - a) / IZR b) by (unfold p; rewrite minus_IZR; field; lra).
  assert (S1 : 0 < IZR (Z.of_nat i + 1)) by (apply IZR_lt; lia).
  pose proof (f_equal IZR (absorb n i)) as AB. rewrite !mult_IZR in AB.
  replace (Z.of_nat (S i)) with (Z.of_nat i + 1)%Z in AB by lia.
  unfold term. replace (n - i)%nat with (S (n - S i)) by lia. rewrite !mult_IZR.
  replace (IZR (binom n (S i))) with (IZR (Z.of_nat n - Z.of_nat i) * IZR (binom n i) / IZR (Z.of_nat i + 1))
    by (rewrite <- AB; field; lra).
  cbn [pow]. rewrite P. unfold p. field. lra.
Qed.

Lemma steps_sound n a b f : (0 < a < b)%Z -> forall i t acc e, (i + f < n)%nat -> (0 <= e)%Z ->
  term n i (IZR a / IZR b) <= val t e -> total n i (IZR a / IZR b) <= val acc e ->
  let r := steps f (Z.of_nat n) a (b - a) (Z.of_nat i) t acc e in
  (0 <= snd r)%Z /\ total n (i + f) (IZR a / IZR b) <= val (fst r) (snd r).
Proof.
  intro A. induction f; intros i t acc e I E T U; cbn [steps].
  - rewrite Nat.add_0_r. now split.
  - replace (i + S f)%nat with (S i + f)%nat by lia. replace (Z.of_nat i + 1)%Z with (Z.of_nat (S i)) by lia.
    set (t' := (t * ((Z.of_nat n - Z.of_nat i) * a) / (Z.of_nat (S i) * (b - a)) + 1)%Z).
    assert (T' : term n (S i) (IZR a / IZR b) <= val t' e).
    { rewrite term_step by lia. unfold t'. replace (Z.of_nat (S i)) with (Z.of_nat i + 1)%Z by lia.
      apply scale_up; try exact T; try exact E; nia. }
    assert (U' : total n (S i) (IZR a / IZR b) <= val (acc + t') e).
    { cbn [total]. unfold val in *. rewrite plus_IZR. unfold Rdiv in *. rewrite Rmult_plus_distr_r. lra. }
    pose proof (excess_range t' e E) as X.
    apply IHf; [lia|lia| |].
    + eapply Rle_trans; [exact T'|]. now apply shift_up.
    + eapply Rle_trans; [exact U'|]. now apply shift_up.
Qed.

(* The check: is P(Bin(n, a/b) <= k) <= dn/dd? The theorem after it: what it says is true. *)
Definition check (n k a b dn dd : Z) : bool :=
  ((0 <=? k) && (k <? n) && (0 <? a) && (a <? b) && (0 <? dd))%Z &&
  let '(m, e) := powup (b - a) b (Z.to_pos n) in
  let '(acc, e') := steps (Z.to_nat k) n a (b - a) 0 m m e in
  (acc * dd <=? dn * 2 ^ e')%Z.

Theorem check_sound n k a b dn dd : check n k a b dn dd = true ->
  F (Z.to_nat n) (Z.to_nat k) (IZR a / IZR b) <= IZR dn / IZR dd.
Proof.
  unfold check. intro H. apply andb_true_iff in H. destruct H as [G H].
  repeat (apply andb_true_iff in G; destruct G as [G ?]).
  assert (K0 : (0 <= k)%Z) by lia. assert (KN : (k < n)%Z) by lia. assert (A : (0 < a < b)%Z) by lia.
  assert (DD : 0 < IZR dd) by (apply IZR_lt; lia).
  pose proof (powup_sound (b - a) b (Z.to_pos n) ltac:(lia) ltac:(lia)) as [E P].
  destruct (powup (b - a) b (Z.to_pos n)) as [m e]. cbn [fst snd] in *.
  assert (B : 0 < IZR b) by (apply IZR_lt; lia).
  assert (T : term (Z.to_nat n) 0 (IZR a / IZR b) <= val m e).
  { unfold term. rewrite binom_0, Nat.sub_0_r. cbn [pow].
    replace (1 - IZR a / IZR b) with (IZR (b - a) / IZR b) by (rewrite minus_IZR; field; lra).
    replace (Z.to_nat n) with (Pos.to_nat (Z.to_pos n)) by (destruct n; simpl; lia). lra. }
  pose proof (steps_sound (Z.to_nat n) a b (Z.to_nat k) A 0%nat m m e ltac:(lia) E T T) as U. cbn zeta in U.
  rewrite Z2Nat.id in U by lia. change (Z.of_nat 0) with 0%Z in U.
  destruct (steps (Z.to_nat k) n a (b - a) 0 m m e) as [acc e']. cbn [fst snd] in U. destruct U as [E' U].
  rewrite F_closed. apply Z.leb_le in H. apply IZR_le in H. rewrite !mult_IZR in H.
  eapply Rle_trans; [exact U|]. unfold val. pose proof (pow2_pos e' E').
  apply Rmult_le_reg_r with (IZR (2 ^ e')); [lra|]. apply Rmult_le_reg_r with (IZR dd); [lra|].
  replace (IZR acc / IZR (2 ^ e') * IZR (2 ^ e') * IZR dd) with (IZR acc * IZR dd) by (field; lra).
  replace (IZR dn / IZR dd * IZR (2 ^ e') * IZR dd) with (IZR dn * IZR (2 ^ e')) by (field; lra). exact H.
Qed.

(* A rate that is not rejected after k errors is below a/b. *)
Theorem below n k a b dn dd : check n k a b dn dd = true ->
  forall p, p <= 1 -> rejects (Z.to_nat n) (Z.to_nat k) p (IZR dn / IZR dd) = false -> p < IZR a / IZR b.
Proof.
  intro H. pose proof (check_sound _ _ _ _ _ _ H) as C. unfold check in H. apply andb_true_iff in H.
  destruct H as [G _]. repeat (apply andb_true_iff in G; destruct G as [G ?]).
  assert (A : (0 < a < b)%Z) by lia. assert (B : 0 < IZR b) by (apply IZR_lt; lia).
  intros p P1 R. destruct (Rlt_dec p (IZR a / IZR b)) as [l|l]; [exact l|exfalso].
  unfold rejects in R.
  destruct (Rle_dec (F (Z.to_nat n) (Z.to_nat k) p) (IZR dn / IZR dd)) as [r|r]; [discriminate|apply r].
  eapply Rle_trans; [|exact C]. apply F_down; [|lra].
  split; [|lra]. apply Rmult_le_pos; [apply IZR_le; lia|]. apply Rlt_le, Rinv_0_lt_compat; lra.
Qed.

(* The same with every operation rounded down: at least how probable are k errors or fewer? Lower limits need it, for
   then the sum has k terms again, and not n - k. *)
Lemma div_down x y : (0 < y)%Z -> IZR (x / y) <= IZR x / IZR y.
Proof.
  intro Y. assert (0 < IZR y) by (apply IZR_lt; lia).
  apply Rmult_le_reg_r with (IZR y); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  rewrite <- mult_IZR. apply IZR_le. pose proof (Z.mul_div_le x y Y). lia.
Qed.
Lemma val_pos m e : (0 <= e)%Z -> (0 <= m)%Z -> 0 <= val m e.
Proof.
  intros. unfold val. apply Rmult_le_pos; [now apply IZR_le|]. apply Rlt_le, Rinv_0_lt_compat, pow2_pos. lia.
Qed.
Lemma shift_down m s e : (0 <= s <= e)%Z -> val (Z.shiftr m s) (e - s) <= val m e.
Proof.
  intro H. rewrite Z.shiftr_div_pow2 by lia. unfold val. replace e with (s + (e - s))%Z at 2 by lia.
  rewrite Z.pow_add_r by lia. rewrite mult_IZR. pose proof (pow2_pos s ltac:(lia)).
  pose proof (pow2_pos (e - s) ltac:(lia)).
  replace (IZR m / (IZR (2 ^ s) * IZR (2 ^ (e - s)))) with (IZR m / IZR (2 ^ s) / IZR (2 ^ (e - s)))
    by (field; lra).
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|]. apply div_down. apply Z.pow_pos_nonneg; lia.
Qed.
Lemma scale_down x m e u v : (0 <= e)%Z -> (0 <= u)%Z -> (0 < v)%Z -> val m e <= x ->
  val (m * u / v) e <= x * (IZR u / IZR v).
Proof.
  intros E U V X. pose proof (pow2_pos e E). assert (0 < IZR v) by (apply IZR_lt; lia).
  assert (0 <= IZR u) by (apply IZR_le; lia). assert (0 < / IZR v) by (apply Rinv_0_lt_compat; lra).
  apply Rle_trans with (val m e * (IZR u / IZR v)).
  - unfold val. replace (IZR m / IZR (2 ^ e) * (IZR u / IZR v)) with (IZR (m * u) / IZR v / IZR (2 ^ e))
      by (rewrite mult_IZR; field; lra).
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|]. now apply div_down.
  - apply Rmult_le_compat_r; [|exact X]. apply Rmult_le_pos; lra.
Qed.
Lemma square_down x m e : (0 <= e)%Z -> (0 <= m)%Z -> val m e <= x ->
  let s := excess (m * m) (2 * e) in val (Z.shiftr (m * m) s) (2 * e - s) <= x * x.
Proof.
  intros E M X s. pose proof (val_pos m e E M). apply Rle_trans with (val (m * m) (2 * e)).
  - apply shift_down. apply excess_range. lia.
  - replace (val (m * m) (2 * e)) with (val m e * val m e).
    + apply Rmult_le_compat; lra.
    + unfold val. replace (2 * e)%Z with (e + e)%Z by lia. rewrite Z.pow_add_r by lia. rewrite !mult_IZR.
      pose proof (pow2_pos e E). field; lra.
Qed.
Lemma shiftr_pos m s : (0 <= m)%Z -> (0 <= Z.shiftr m s)%Z.
Proof. apply Z.shiftr_nonneg. Qed.

(* At most (q/b)^x, by squaring. *)
Fixpoint powdown (q b : Z) (x : positive) : Z * Z :=
  match x with
  | xH => ((q * 2 ^ 128 / b)%Z, 128%Z)
  | xO y => let '(m, e) := powdown q b y in let s := excess (m * m) (2 * e) in
            (Z.shiftr (m * m) s, (2 * e - s)%Z)
  | xI y => let '(m, e) := powdown q b y in let s := excess (m * m) (2 * e) in
            ((Z.shiftr (m * m) s * q / b)%Z, (2 * e - s)%Z)
  end.
Lemma powdown_sound q b x : (0 <= q)%Z -> (0 < b)%Z ->
  (0 <= snd (powdown q b x))%Z /\ (0 <= fst (powdown q b x))%Z /\
  val (fst (powdown q b x)) (snd (powdown q b x)) <= (IZR q / IZR b) ^ Pos.to_nat x.
Proof.
  intros Q B. assert (0 < IZR b) by (apply IZR_lt; lia).
  induction x as [y IH|y IH|]; cbn [powdown].
  - destruct (powdown q b y) as [m e]; cbn [fst snd] in *. destruct IH as [E [M IH]].
    pose proof (excess_range (m * m) (2 * e) ltac:(lia)). split; [lia|].
    assert (P : (0 <= Z.shiftr (m * m) (excess (m * m) (2 * e)))%Z) by (apply shiftr_pos; nia). split.
    + apply Z.div_pos; [nia|lia].
    + rewrite Pos2Nat.inj_xI. replace (S (2 * Pos.to_nat y)) with (Pos.to_nat y + Pos.to_nat y + 1)%nat by lia.
      rewrite !pow_add, pow_1. apply scale_down; try lia. now apply square_down.
  - destruct (powdown q b y) as [m e]; cbn [fst snd] in *. destruct IH as [E [M IH]].
    pose proof (excess_range (m * m) (2 * e) ltac:(lia)). split; [lia|]. split; [apply shiftr_pos; nia|].
    rewrite Pos2Nat.inj_xO. replace (2 * Pos.to_nat y)%nat with (Pos.to_nat y + Pos.to_nat y)%nat by lia.
    rewrite !pow_add. now apply square_down.
  - cbn [fst snd]. split; [lia|]. split; [apply Z.div_pos; lia|]. rewrite Pos2Nat.inj_1, pow_1.
    replace (IZR q / IZR b) with (1 * (IZR q / IZR b)) by ring.
    replace (q * 2 ^ 128)%Z with (2 ^ 128 * q)%Z by ring. apply scale_down; try lia.
    unfold val. apply Req_le. field. apply Rgt_not_eq, pow2_pos. lia.
Qed.

Fixpoint steps_down (fuel : nat) (n a q i t acc e : Z) : Z * Z :=
  match fuel with
  | O => (acc, e)
  | S f => let t := (t * ((n - i) * a) / ((i + 1) * q))%Z in
           let acc := (acc + t)%Z in
           let s := excess t e in
           steps_down f n a q (i + 1)%Z (Z.shiftr t s) (Z.shiftr acc s) (e - s)%Z
  end.
Lemma steps_down_sound n a b f : (0 < a < b)%Z -> forall i t acc e, (i + f < n)%nat -> (0 <= e)%Z ->
  val t e <= term n i (IZR a / IZR b) -> val acc e <= total n i (IZR a / IZR b) ->
  let r := steps_down f (Z.of_nat n) a (b - a) (Z.of_nat i) t acc e in
  (0 <= snd r)%Z /\ val (fst r) (snd r) <= total n (i + f) (IZR a / IZR b).
Proof.
  intro A. induction f; intros i t acc e I E T U; cbn [steps_down].
  - rewrite Nat.add_0_r. now split.
  - replace (i + S f)%nat with (S i + f)%nat by lia. replace (Z.of_nat i + 1)%Z with (Z.of_nat (S i)) by lia.
    set (t' := (t * ((Z.of_nat n - Z.of_nat i) * a) / (Z.of_nat (S i) * (b - a)))%Z).
    assert (T' : val t' e <= term n (S i) (IZR a / IZR b)).
    { rewrite term_step by lia. unfold t'. replace (Z.of_nat (S i)) with (Z.of_nat i + 1)%Z by lia.
      apply scale_down; try exact T; try exact E; nia. }
    assert (U' : val (acc + t') e <= total n (S i) (IZR a / IZR b)).
    { cbn [total]. unfold val in *. rewrite plus_IZR. unfold Rdiv in *. rewrite Rmult_plus_distr_r. lra. }
    pose proof (excess_range t' e E) as X.
    apply IHf; [lia|lia| |].
    + eapply Rle_trans; [|exact T']. now apply shift_down.
    + eapply Rle_trans; [|exact U']. now apply shift_down.
Qed.

(* Is P(Bin(n, a/b) <= k - 1) >= 1 - dn/dd, so that k errors or more have probability at most dn/dd? *)
Definition check_low (n k a b dn dd : Z) : bool :=
  ((0 <? k) && (k <=? n) && (0 <? a) && (a <? b) && (0 <? dd))%Z &&
  let '(m, e) := powdown (b - a) b (Z.to_pos n) in
  let '(acc, e') := steps_down (Z.to_nat (k - 1)) n a (b - a) 0 m m e in
  ((dd - dn) * 2 ^ e' <=? acc * dd)%Z.

Theorem check_low_sound n k a b dn dd : check_low n k a b dn dd = true ->
  1 - IZR dn / IZR dd <= F (Z.to_nat n) (Z.to_nat (k - 1)) (IZR a / IZR b).
Proof.
  unfold check_low. intro H. apply andb_true_iff in H. destruct H as [G H].
  repeat (apply andb_true_iff in G; destruct G as [G ?]).
  assert (K0 : (0 < k)%Z) by lia. assert (KN : (k <= n)%Z) by lia. assert (A : (0 < a < b)%Z) by lia.
  assert (DD : 0 < IZR dd) by (apply IZR_lt; lia).
  pose proof (powdown_sound (b - a) b (Z.to_pos n) ltac:(lia) ltac:(lia)) as [E [_ P]].
  destruct (powdown (b - a) b (Z.to_pos n)) as [m e]. cbn [fst snd] in *.
  assert (B : 0 < IZR b) by (apply IZR_lt; lia).
  assert (T : val m e <= term (Z.to_nat n) 0 (IZR a / IZR b)).
  { unfold term. rewrite binom_0, Nat.sub_0_r. cbn [pow].
    replace (1 - IZR a / IZR b) with (IZR (b - a) / IZR b) by (rewrite minus_IZR; field; lra).
    replace (Z.to_nat n) with (Pos.to_nat (Z.to_pos n)) by (destruct n; simpl; lia). lra. }
  pose proof (steps_down_sound (Z.to_nat n) a b (Z.to_nat (k - 1)) A 0%nat m m e ltac:(lia) E T T) as U. cbn zeta in U.
  rewrite Z2Nat.id in U by lia. change (Z.of_nat 0) with 0%Z in U.
  destruct (steps_down (Z.to_nat (k - 1)) n a (b - a) 0 m m e) as [acc e']. cbn [fst snd] in U. destruct U as [E' U].
  rewrite F_closed. apply Z.leb_le in H. apply IZR_le in H. rewrite !mult_IZR, minus_IZR in H.
  eapply Rle_trans; [|exact U]. unfold val. pose proof (pow2_pos e' E').
  apply Rmult_le_reg_r with (IZR (2 ^ e')); [lra|]. apply Rmult_le_reg_r with (IZR dd); [lra|].
  replace (IZR acc / IZR (2 ^ e') * IZR (2 ^ e') * IZR dd) with (IZR acc * IZR dd) by (field; lra).
  replace ((1 - IZR dn / IZR dd) * IZR (2 ^ e') * IZR dd) with ((IZR dd - IZR dn) * IZR (2 ^ e')) by (field; lra). exact H.
Qed.
