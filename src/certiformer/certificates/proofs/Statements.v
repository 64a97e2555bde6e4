(* What a certificate states, and that the integer check proves it. A file proof.v is made of these statements.

   All numbers are whole numbers, so that a double or a decimal is meant exactly: a/b is a limit, dn/dd a share of delta,
   n the number of examples, k the number of errors, K the number of models that were compared. Each statement has two
   halves: how often the procedure fails, over samples, whatever the law and the models; and what it says at the counts
   of this report. What only a person can know is in neither: that the examples are independent draws from the law that
   is meant, and that the models were fixed before any of them was scored on these examples. *)
From Coq Require Import Reals Lra Lia List Bool Arith ZArith.
From Certiformer Require Import Holdout Check Uses.
Import ListNotations.
Local Open Scope R_scope.

Definition ratio (a b : Z) : R := IZR a / IZR b.
(* The share of each of m statements that are made together. *)
Definition part (dn dd m : Z) : R := ratio dn (dd * m).
(* The check of Check.v, or a limit of 1 or more, which needs none: k = n gives that the risk is at most 1. *)
Definition limit_shown (n k a b dn dd : Z) : bool := check n k a b dn dd || ((0 <? b) && (b <=? a))%Z.

(* A lower limit of 0 or less needs none either: k = 0 gives that the risk is at least 0. *)
Definition lower_shown (n k a b dn dd : Z) : bool := check_low n k a b dn dd || ((0 <? b) && (a <=? 0))%Z.

Lemma part_pos dn dd m : (0 <= dn)%Z -> (0 < dd)%Z -> (0 < m)%Z -> 0 <= part dn dd m.
Proof.
  intros. unfold part, ratio. apply Rmult_le_pos; [now apply IZR_le|].
  apply Rlt_le, Rinv_0_lt_compat, IZR_lt. nia.
Qed.
Lemma part_sum dn dd m : (0 < dd)%Z -> (0 < m)%Z -> INR (Z.to_nat m) * part dn dd m = ratio dn dd.
Proof.
  intros. unfold part, ratio. rewrite INR_IZR_INZ, Z2Nat.id by lia. rewrite mult_IZR.
  assert (0 < IZR m) by (apply IZR_lt; lia). assert (0 < IZR dd) by (apply IZR_lt; lia). field. lra.
Qed.
Lemma part_half dn dd m : (0 < dd)%Z -> (0 < m)%Z -> part dn dd (2 * m) + part dn dd (2 * m) = part dn dd m.
Proof.
  intros. unfold part, ratio. rewrite !mult_IZR.
  assert (0 < IZR m) by (apply IZR_lt; lia). assert (0 < IZR dd) by (apply IZR_lt; lia). field. lra.
Qed.
Lemma limit n k a b dn dd m p : limit_shown n k a b dn (dd * m) = true -> p <= 1 ->
  rejects (Z.to_nat n) (Z.to_nat k) p (part dn dd m) = false -> p <= ratio a b.
Proof.
  unfold limit_shown. intros H P R. apply orb_true_iff in H. destruct H as [H|H].
  - apply Rlt_le. exact (below _ _ _ _ _ _ H p P R).
  - apply andb_true_iff in H. assert (0 < b <= a)%Z by lia. apply Rle_trans with (1 := P). unfold ratio.
    assert (0 < IZR b) by (apply IZR_lt; lia). apply Rmult_le_reg_r with (IZR b); [lra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra. apply IZR_le. lia.
Qed.
Lemma lower_limit n k a b dn dd m p : lower_shown n k a b dn (dd * m) = true -> 0 <= p <= 1 ->
  rejects (Z.to_nat n) (Z.to_nat n - Z.to_nat k) (1 - p) (part dn dd m) = false -> ratio a b <= p.
Proof.
  unfold lower_shown. intros H P R. apply orb_true_iff in H. destruct H as [H|H].
  - pose proof (check_low_sound _ _ _ _ _ _ H) as C. unfold check_low in H. apply andb_true_iff in H.
    destruct H as [G _]. repeat (apply andb_true_iff in G; destruct G as [G ?]).
    assert (B : 0 < IZR b) by (apply IZR_lt; lia).
    assert (Q : 0 <= ratio a b <= 1).
    { unfold ratio. split; [apply Rmult_le_pos; [apply IZR_le; lia|apply Rlt_le, Rinv_0_lt_compat; lra]|].
      apply Rmult_le_reg_r with (IZR b); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra.
      rewrite Rmult_1_r, Rmult_1_l. apply IZR_le. lia. }
    pose proof (F_mirror (Z.to_nat n) (Z.to_nat (k - 1)) (ratio a b) Q ltac:(lia)) as M.
    replace (Z.to_nat n - S (Z.to_nat (k - 1)))%nat with (Z.to_nat n - Z.to_nat k)%nat in M by lia.
    destruct (Rle_dec (ratio a b) p) as [l|l]; [exact l|exfalso]. unfold rejects in R.
    destruct (Rle_dec _ _) as [r|r] in R; [discriminate R|apply r].
    apply Rle_trans with (F (Z.to_nat n) (Z.to_nat n - Z.to_nat k) (1 - ratio a b)); [apply F_down; lra|].
    rewrite M. unfold part, ratio in *. lra.
  - apply andb_true_iff in H. assert (0 < b)%Z by lia. assert (a <= 0)%Z by lia. unfold ratio.
    assert (0 < IZR b) by (apply IZR_lt; lia). assert (IZR a <= 0) by (apply IZR_le; lia).
    apply Rle_trans with 0; [|lra]. apply Rmult_le_reg_r with (IZR b); [lra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_0_l by lra. lra.
Qed.

(* 1. Hold-out, the best of K models that were fixed beforehand: risk <= a/b after k errors among n. *)
Definition holdout (n k K a b dn dd : Z) : Prop :=
  (forall X (D : law X) (models : list (X -> bool)) (choose : list X -> X -> bool),
     length models = Z.to_nat K -> (forall s, In (choose s) models) ->
     prob D (Z.to_nat n) (fun s =>
       rejects (Z.to_nat n) (count (choose s) s) (risk D (choose s)) (part dn dd K)) <= ratio dn dd)
  /\ (forall X (D : law X) (err : X -> bool),
     rejects (Z.to_nat n) (Z.to_nat k) (risk D err) (part dn dd K) = false -> risk D err <= ratio a b).

Definition holdout_check (n k K a b dn dd : Z) : bool :=
  ((0 <=? dn) && (0 <? dd) && (0 <? K))%Z && limit_shown n k a b dn (dd * K).

Theorem holdout_holds n k K a b dn dd : holdout_check n k K a b dn dd = true -> holdout n k K a b dn dd.
Proof.
  unfold holdout_check. intro H. apply andb_true_iff in H. destruct H as [G H].
  repeat (apply andb_true_iff in G; destruct G as [G ?]).
  assert (PP := part_pos dn dd K ltac:(lia) ltac:(lia) ltac:(lia)). split.
  - intros X D models choose L C. rewrite <- (part_sum dn dd K) by lia. rewrite <- L.
    apply (any_choice (sample D (Z.to_nat n))
      (fun err s => rejects (Z.to_nat n) (count err s) (risk D err) (part dn dd K))); [|exact C].
    intros err _. now apply coverage.
  - intros X D err R. apply (limit n k a b dn dd K); [exact H|apply risk_range|exact R].
Qed.

(* 2. Both limits, each at half of the share: la/lb <= risk <= a/b. *)
Definition rejects_either (n k : nat) (p d : R) : bool := rejects n k p d || rejects n (n - k) (1 - p) d.
Definition two_sided (n k K a b la lb dn dd : Z) : Prop :=
  (forall X (D : law X) (models : list (X -> bool)) (choose : list X -> X -> bool),
     length models = Z.to_nat K -> (forall s, In (choose s) models) ->
     prob D (Z.to_nat n) (fun s =>
       rejects_either (Z.to_nat n) (count (choose s) s) (risk D (choose s)) (part dn dd (2 * K))) <= ratio dn dd)
  /\ (forall X (D : law X) (err : X -> bool),
     rejects_either (Z.to_nat n) (Z.to_nat k) (risk D err) (part dn dd (2 * K)) = false ->
     ratio la lb <= risk D err <= ratio a b).

Definition two_sided_check (n k K a b la lb dn dd : Z) : bool :=
  ((0 <=? dn) && (0 <? dd) && (0 <? K))%Z &&
  (limit_shown n k a b dn (dd * (2 * K)) && lower_shown n k la lb dn (dd * (2 * K))).

Theorem two_sided_holds n k K a b la lb dn dd :
  two_sided_check n k K a b la lb dn dd = true -> two_sided n k K a b la lb dn dd.
Proof.
  unfold two_sided_check. intro H. apply andb_true_iff in H. destruct H as [G H].
  repeat (apply andb_true_iff in G; destruct G as [G ?]). apply andb_true_iff in H. destruct H as [HU HL].
  assert (PP := part_pos dn dd (2 * K) ltac:(lia) ltac:(lia) ltac:(lia)). split.
  - intros X D models choose L C. rewrite <- (part_sum dn dd K) by lia. rewrite <- L.
    apply (any_choice (sample D (Z.to_nat n))
      (fun err s => rejects_either (Z.to_nat n) (count err s) (risk D err) (part dn dd (2 * K)))); [|exact C].
    intros err _. unfold rejects_either. eapply Rle_trans; [apply risk_or|].
    rewrite <- (part_half dn dd K) by lia. apply Rplus_le_compat; [now apply coverage|now apply lower_coverage].
  - intros X D err R. unfold rejects_either in R. apply orb_false_iff in R. destruct R as [RU RL].
    pose proof (risk_range D err). split.
    + apply (lower_limit n k la lb dn dd (2 * K)); [exact HL|lra|exact RL].
    + apply (limit n k a b dn dd (2 * K)); [exact HU|lra|exact RU].
Qed.

(* 3. Disagreement: h1 made k errors on n labelled examples, h and h1 differ on j of m fresh unlabelled ones. Half of the
   share each; risk of h <= v/w, where a1/b1 and a2/b2 are the two limits. K pairs were fixed beforehand. *)
Definition disagreement (n k m j K v w dn dd : Z) : Prop :=
  (forall X (D : law X) (pairs : list ((X -> bool) * (X -> bool))) (choose : list X * list X -> (X -> bool) * (X -> bool)),
     length pairs = Z.to_nat K -> (forall z, In (choose z) pairs) ->
     risk (both (sample D (Z.to_nat n)) (sample D (Z.to_nat m))) (fun z =>
       rejects (Z.to_nat n) (count (fst (choose z)) (fst z)) (risk D (fst (choose z))) (part dn dd (2 * K)) ||
       rejects (Z.to_nat m) (count (snd (choose z)) (snd z)) (risk D (snd (choose z))) (part dn dd (2 * K)))
     <= ratio dn dd)
  /\ (forall X (D : law X) (h h1 differ : X -> bool), (forall x, h x = true -> h1 x = true \/ differ x = true) ->
     rejects (Z.to_nat n) (Z.to_nat k) (risk D h1) (part dn dd (2 * K)) = false ->
     rejects (Z.to_nat m) (Z.to_nat j) (risk D differ) (part dn dd (2 * K)) = false -> risk D h <= ratio v w).

Definition disagreement_check (n k m j K a1 b1 a2 b2 v w dn dd : Z) : bool :=
  ((0 <=? dn) && (0 <? dd) && (0 <? K) && (0 <? w))%Z &&
  ((w <=? v)%Z || (limit_shown n k a1 b1 dn (dd * (2 * K)) && limit_shown m j a2 b2 dn (dd * (2 * K)) &&
   ((0 <? b1) && (0 <? b2) && ((a1 * b2 + a2 * b1) * w <=? v * (b1 * b2)))%Z)).

Theorem disagreement_holds n k m j K a1 b1 a2 b2 v w dn dd :
  disagreement_check n k m j K a1 b1 a2 b2 v w dn dd = true -> disagreement n k m j K v w dn dd.
Proof.
  unfold disagreement_check. intro H. apply andb_true_iff in H. destruct H as [G H].
  repeat (apply andb_true_iff in G; destruct G as [G ?]).
  assert (PP := part_pos dn dd (2 * K) ltac:(lia) ltac:(lia) ltac:(lia)).
  assert (W : 0 < IZR w) by (apply IZR_lt; lia). split.
  - intros X D pairs choose L C. rewrite <- (part_sum dn dd K) by lia. rewrite <- L.
    apply (any_choice (both (sample D (Z.to_nat n)) (sample D (Z.to_nat m)))
      (fun e z => rejects (Z.to_nat n) (count (fst e) (fst z)) (risk D (fst e)) (part dn dd (2 * K)) ||
                  rejects (Z.to_nat m) (count (snd e) (snd z)) (risk D (snd e)) (part dn dd (2 * K)))); [|exact C].
    intros e _. eapply Rle_trans; [apply risk_or|]. rewrite <- (part_half dn dd K) by lia. apply Rplus_le_compat.
    + rewrite (both_first (sample D (Z.to_nat n)) (sample D (Z.to_nat m))
        (fun s => rejects (Z.to_nat n) (count (fst e) s) (risk D (fst e)) (part dn dd (2 * K)))). now apply coverage.
    + rewrite (both_second (sample D (Z.to_nat n)) (sample D (Z.to_nat m))
        (fun s => rejects (Z.to_nat m) (count (snd e) s) (risk D (snd e)) (part dn dd (2 * K)))). now apply coverage.
  - intros X D h h1 differ T R1 R2. apply orb_true_iff in H. destruct H as [H|H].
    + apply Rle_trans with 1; [apply risk_range|]. unfold ratio. apply Rmult_le_reg_r with (IZR w); [lra|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r, Rmult_1_l by lra. apply IZR_le. lia.
    + repeat (apply andb_true_iff in H; destruct H as [H ?]).
      match goal with Q : (_ && _)%bool = true |- _ =>
        repeat (apply andb_true_iff in Q; destruct Q as [Q ?]) end.
      pose proof (limit n k a1 b1 dn dd (2 * K) _ ltac:(assumption) (proj2 (risk_range D h1)) R1) as L1.
      pose proof (limit m j a2 b2 dn dd (2 * K) _ ltac:(assumption) (proj2 (risk_range D differ)) R2) as L2.
      apply Rle_trans with (1 := transfer D h h1 differ T). apply Rle_trans with (ratio a1 b1 + ratio a2 b2); [lra|].
      assert (B1 : 0 < IZR b1) by (apply IZR_lt; lia). assert (B2 : 0 < IZR b2) by (apply IZR_lt; lia).
      assert (S : IZR ((a1 * b2 + a2 * b1) * w) <= IZR (v * (b1 * b2))) by (apply IZR_le; lia).
      rewrite !mult_IZR, plus_IZR, !mult_IZR in S. unfold ratio.
      apply Rmult_le_reg_r with (IZR w * (IZR b1 * IZR b2)); [apply Rmult_lt_0_compat; [lra|now apply Rmult_lt_0_compat]|].
      replace ((IZR a1 / IZR b1 + IZR a2 / IZR b2) * (IZR w * (IZR b1 * IZR b2)))
        with ((IZR a1 * IZR b2 + IZR a2 * IZR b1) * IZR w) by (field; lra).
      replace (IZR v / IZR w * (IZR w * (IZR b1 * IZR b2))) with (IZR v * (IZR b1 * IZR b2)) by (field; lra). exact S.
Qed.

(* 4. The sign test: neither model is better if risk a = risk b. Its p-value is 2 F m min(n10, n01) (1/2). *)
Definition p_at_most (n10 n01 : nat) (d : R) : bool :=
  rejects (n10 + n01) n01 (1 / 2) (d / 2) || rejects (n10 + n01) n10 (1 / 2) (d / 2).
Definition sign_test (n10 n01 dn dd : Z) : Prop :=
  (forall X (D : law X) (a b : X -> bool) n d, 0 <= d -> (forall x, a x && b x = false) ->
     (risk D a <= risk D b -> prob D n (fun s => rejects (count a s + count b s) (count b s) (1 / 2) (d / 2)) <= d / 2) /\
     (risk D a = risk D b -> prob D n (fun s => p_at_most (count a s) (count b s) d) <= d))
  /\ p_at_most (Z.to_nat n10) (Z.to_nat n01) (ratio dn dd) = true.

Definition sign_test_check (n10 n01 dn dd : Z) : bool :=
  ((0 <=? n10) && (0 <=? n01) && (0 <? dd))%Z &&
  check (n10 + n01) (Z.min n10 n01) 1 2 dn (dd * 2).

Theorem sign_test_holds n10 n01 dn dd : sign_test_check n10 n01 dn dd = true -> sign_test n10 n01 dn dd.
Proof.
  unfold sign_test_check. intro H. apply andb_true_iff in H. destruct H as [G H].
  repeat (apply andb_true_iff in G; destruct G as [G ?]). split.
  - intros X D a b n d P AB.
    assert (O : forall u v : X -> bool, (forall x, u x && v x = false) -> risk D u <= risk D v ->
      prob D n (fun s => rejects (count u s + count v s) (count v s) (1 / 2) (d / 2)) <= d / 2).
    { intros u v UV LE. apply Uses.sign_test; [lra|exact UV|exact LE]. }
    split; [now apply O|]. intro E.
    apply Rle_trans with (risk (sample D n) (fun s => rejects (count a s + count b s) (count b s) (1 / 2) (d / 2) ||
                                                      rejects (count b s + count a s) (count a s) (1 / 2) (d / 2))).
    + apply (risk_le (sample D n) (fun s => p_at_most (count a s) (count b s) d)). intro s. unfold p_at_most.
      now rewrite (Nat.add_comm (count b s)).
    + eapply Rle_trans; [apply risk_or|]. apply Rle_trans with (d / 2 + d / 2); [|lra]. apply Rplus_le_compat.
      * apply (O a b AB). lra.
      * apply (O b a); [intro x; rewrite andb_comm; apply AB|lra].
  - pose proof (check_sound _ _ _ _ _ _ H) as C.
    assert (R2 : IZR dn / IZR (dd * 2) = ratio dn dd / 2).
    { unfold ratio. rewrite mult_IZR. assert (0 < IZR dd) by (apply IZR_lt; lia). field. lra. }
    rewrite R2, Z2Nat.inj_add in C by lia.
    unfold p_at_most, rejects. apply orb_true_iff. destruct (Z.min_spec n10 n01) as [[_ E]|[_ E]]; rewrite E in C.
    + right. destruct (Rle_dec _ _) as [l|l]; [reflexivity|contradiction].
    + left. destruct (Rle_dec _ _) as [l|l]; [reflexivity|contradiction].
Qed.

(* 5. A gate at n examples that were fixed beforehand: a model whose risk is above a/b passes with probability at most
   delta; with k errors this one passes. *)
Definition gate (n k K a b dn dd : Z) : Prop :=
  (forall X (D : law X) (models : list (X -> bool)) (choose : list X -> X -> bool),
     length models = Z.to_nat K -> (forall s, In (choose s) models) ->
     prob D (Z.to_nat n) (fun s => rejects (Z.to_nat n) (count (choose s) s) (ratio a b) (part dn dd K) &&
       (if Rlt_dec (ratio a b) (risk D (choose s)) then true else false)) <= ratio dn dd)
  /\ rejects (Z.to_nat n) (Z.to_nat k) (ratio a b) (part dn dd K) = true.

Definition gate_check (n k K a b dn dd : Z) : bool :=
  ((0 <=? dn) && (0 <? dd) && (0 <? K))%Z && check n k a b dn (dd * K).

Theorem gate_holds n k K a b dn dd : gate_check n k K a b dn dd = true -> gate n k K a b dn dd.
Proof.
  unfold gate_check. intro H. apply andb_true_iff in H. destruct H as [G H].
  repeat (apply andb_true_iff in G; destruct G as [G ?]).
  assert (PP := part_pos dn dd K ltac:(lia) ltac:(lia) ltac:(lia)).
  assert (A : 0 <= ratio a b).
  { unfold check in H. apply andb_true_iff in H. destruct H as [Q _].
    repeat (apply andb_true_iff in Q; destruct Q as [Q ?]).
    unfold ratio. apply Rmult_le_pos; [apply IZR_le; lia|]. apply Rlt_le, Rinv_0_lt_compat, IZR_lt. lia. }
  split.
  - intros X D models choose L C. rewrite <- (part_sum dn dd K) by lia. rewrite <- L.
    apply (any_choice (sample D (Z.to_nat n)) (fun err s =>
      rejects (Z.to_nat n) (count err s) (ratio a b) (part dn dd K) &&
      (if Rlt_dec (ratio a b) (risk D err) then true else false))); [|exact C].
    intros err _. eapply Rle_trans; [|apply (coverage D err (Z.to_nat n) _ PP)].
    apply (risk_le (sample D (Z.to_nat n))). intros s T. apply andb_true_iff in T. destruct T as [T U].
    destruct (Rlt_dec (ratio a b) (risk D err)) as [l|l]; [|discriminate U]. unfold rejects in *.
    destruct (Rle_dec (F (Z.to_nat n) (count err s) (ratio a b)) (part dn dd K)) as [r|r]; [|discriminate T].
    destruct (Rle_dec (F (Z.to_nat n) (count err s) (risk D err)) (part dn dd K)) as [q|q]; [reflexivity|exfalso].
    apply q. eapply Rle_trans; [|exact r]. apply F_down; [lra|apply risk_range].
  - unfold rejects. destruct (Rle_dec _ _) as [l|l]; [reflexivity|exfalso]. apply l. now apply check_sound.
Qed.

(* 6. Together: statements that fail with probability at most their shares ns/dd all hold but for probability dn/dd. *)
Definition jointly (ns : list Z) (dn dd : Z) : Prop :=
  forall Y (L : law Y) (fails : list (Y -> bool)),
    Forall2 (fun e m => risk L e <= ratio m dd) fails ns -> risk L (some fails) <= ratio dn dd.

Definition jointly_check (ns : list Z) (dn dd : Z) : bool := ((0 <? dd) && (fold_right Z.add 0 ns <=? dn))%Z.

Theorem jointly_holds ns dn dd : jointly_check ns dn dd = true -> jointly ns dn dd.
Proof.
  unfold jointly_check. intro H. apply andb_true_iff in H. destruct H as [G H].
  assert (P : 0 < IZR dd) by (apply IZR_lt; lia). apply Z.leb_le in H.
  intros Y L fails E. apply Rle_trans with (sum (map (fun m => ratio m dd) ns)).
  - apply union. clear H. induction E as [|e m es ms S _ IH]; simpl; constructor; assumption.
  - apply Rle_trans with (ratio (fold_right Z.add 0%Z ns) dd).
    + clear. apply Req_le. induction ns as [|m ms IH]; simpl; [unfold ratio; lra|].
      rewrite IH. unfold ratio. rewrite plus_IZR. lra.
    + unfold ratio. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|]. now apply IZR_le.
Qed.

(* 7. Counting: labels and predictions, as whole numbers, one pair for each example. *)
Definition wrong (x : Z * Z) : bool := negb (Z.eqb (fst x) (snd x)).
Definition counted (data : list (Z * Z)) (n k : Z) : Prop :=
  Z.of_nat (length data) = n /\ Z.of_nat (count wrong data) = k.
Definition counted_check (data : list (Z * Z)) (n k : Z) : bool :=
  ((Z.of_nat (length data) =? n) && (Z.of_nat (count wrong data) =? k))%Z.
Theorem counted_holds data n k : counted_check data n k = true -> counted data n k.
Proof. unfold counted_check, counted. intro H. apply andb_true_iff in H. lia. Qed.

(* How a proof.v ends each of its proofs: the kernel computes the check. *)
Ltac computed := vm_cast_no_check (eq_refl true).
