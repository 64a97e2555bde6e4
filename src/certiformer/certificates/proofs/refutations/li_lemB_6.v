(* li.lemB.6: the printed covering number of linear maps of bounded rank is too small.

   Printed, Lemma B.6: "\mathcal{W}=\{W\in\mathbb{R}^{d\times k}:\operatorname{col}(W)\subseteq\mathcal{V},\lVert W\rVert_{2}\leq B_{W}\}"
   "restricted to inputs satisfying"
   "\lVert x\rVert_{2}\leq B_{x}. Then, the empirical covering number satisfies:"
   "\log\mathcal{N}_{\infty}(\epsilon,\mathcal{H},n,\lVert\cdot\rVert_{2})\leq\frac{r}{2}\log\left(\frac{4B_{x}^{2}B_{W}^{2}r}{\epsilon^{2}}\right)."

   Read here: d = k = 2, r = 1, B_W = B_x = 1, n = 2, and V is the line of the first coordinate, so that W is in the class
   if its second row is 0 and |W x| <= |x| for all x. Whatever the two inputs of norm at most 1, there is a finite cover
   of that size: functions, of the class or not, such that every W x is within epsilon of one of them at both inputs.
   (d = k, for the lemma puts the column space of a d x k matrix into R^k.)
   Counterexample: epsilon = 1/5 and the inputs e_1, e_2. A row (u, v) of norm at most 1 has the values u and v. The
   sixteen rows with entries -0.63, -0.21, 0.21, 0.63 differ by 0.42 > 2 epsilon in some place, so no function covers two of
   them. The lemma allows exp((1/2) log 100) = 10. *)
From Coq Require Import Reals Lra Lia List Psatz.
Import ListNotations.
Local Open Scope R_scope.

Definition vector := (R * R)%type.
Definition square (x : vector) := fst x ^ 2 + snd x ^ 2.
Record matrix := { w11 : R; w12 : R; w21 : R; w22 : R }.
Definition apply (W : matrix) (x : vector) : vector :=
  (w11 W * fst x + w12 W * snd x, w21 W * fst x + w22 W * snd x).
Definition in_class (W : matrix) := (w21 W = 0 /\ w22 W = 0) /\ forall x, square (apply W x) <= 1 ^ 2 * square x.
Definition near (epsilon : R) (y y' : vector) := square (fst y - fst y', snd y - snd y') <= epsilon ^ 2.

Definition printed := forall epsilon x1 x2, 0 < epsilon -> square x1 <= 1 -> square x2 <= 1 ->
  exists cover : list (vector -> vector),
    (forall W, in_class W -> exists f, In f cover /\ near epsilon (apply W x1) (f x1) /\ near epsilon (apply W x2) (f x2))
    /\ ln (INR (length cover)) <= 1 / 2 * ln (4 * 1 ^ 2 * 1 ^ 2 * 1 / epsilon ^ 2).

(* Points that are pairwise too far apart to be covered by one function need as many functions. *)
Lemma packing {A B} (covers : B -> A -> Prop) (points : list A) : forall cover : list B,
  ForallOrdPairs (fun p q => forall f, covers f p -> covers f q -> False) points ->
  (forall p, In p points -> exists f, In f cover /\ covers f p) -> (length points <= length cover)%nat.
Proof.
  induction points as [|p r IH]; intros cover F C; [simpl; lia|].
  inversion F as [|p' r' Far Rest]; subst. destruct (C p (or_introl eq_refl)) as [f [I P]].
  apply in_split in I. destruct I as [l1 [l2 E]]. subst cover. rewrite app_length. simpl.
  assert (L : (length r <= length (l1 ++ l2))%nat).
  { apply IH; [exact Rest|]. intros q Q. destruct (C q (or_intror Q)) as [g [G H]]. exists g. split; [|exact H].
    apply in_elt_inv in G. destruct G as [G|G]; [subst g; exfalso|exact G].
    rewrite Forall_forall in Far. exact (Far q Q f P H). }
  rewrite app_length in L. lia.
Qed.

Definition row (c : R * R) : matrix := {| w11 := fst c; w12 := snd c; w21 := 0; w22 := 0 |}.
Definition levels : list R := [-63/100; -21/100; 21/100; 63/100].
Definition rows : list (R * R) := list_prod levels levels.

Lemma level_range u : In u levels -> u ^ 2 <= 1 / 2.
Proof. intros [E|[E|[E|[E|[]]]]]; rewrite <- E; unfold pow; lra. Qed.
Lemma rows_in_class c : In c rows -> in_class (row c).
Proof.
  destruct c as [u v]. intro I. apply in_prod_iff in I. destruct I as [U V].
  apply level_range in U. apply level_range in V. split; [split; reflexivity|].
  intros [x y]. unfold square, apply, row. cbn [fst snd w11 w12 w21 w22].
  pose proof (pow2_ge_0 (u * y - v * x)). pose proof (pow2_ge_0 x). pose proof (pow2_ge_0 y).
  assert ((u ^ 2 + v ^ 2) * (x ^ 2 + y ^ 2) <= 1 * (x ^ 2 + y ^ 2)) by (apply Rmult_le_compat_r; lra).
  replace ((u * x + v * y) ^ 2 + (0 * x + 0 * y) ^ 2)
    with ((u ^ 2 + v ^ 2) * (x ^ 2 + y ^ 2) - (u * y - v * x) ^ 2) by ring. lra.
Qed.
(* One function is near the values of two rows only if these are within 2 epsilon of each other in both places. *)
Lemma within y s : y ^ 2 + s ^ 2 <= (1 / 5) ^ 2 -> - (1 / 5) <= y <= 1 / 5.
Proof.
  intro H. pose proof (pow2_ge_0 s). assert (Q : y * y <= 1 / 25).
  { replace (y * y) with (y ^ 2) by ring. replace (1 / 25) with ((1 / 5) ^ 2) by field. lra. }
  split; nra.
Qed.
Definition covers (f : vector -> vector) (c : R * R) : Prop :=
  near (1 / 5) (apply (row c) (1, 0)) (f (1, 0)) /\ near (1 / 5) (apply (row c) (0, 1)) (f (0, 1)).
Lemma apart f c c' : covers f c -> covers f c' -> -2 / 5 <= fst c - fst c' <= 2 / 5 /\ -2 / 5 <= snd c - snd c' <= 2 / 5.
Proof.
  destruct c as [u v], c' as [u' v']. unfold covers, near, square, apply, row. cbn [fst snd w11 w12 w21 w22].
  intros [A B] [A' B']. apply within in A, B, A', B'. lra.
Qed.

Theorem refuted : ~ printed.
Proof.
  intro H. destruct (H (1 / 5) (1, 0) (0, 1)) as [cover [C N]]; try (unfold square; simpl; lra).
  assert (L : (length rows <= length cover)%nat).
  { apply (packing covers).
    - unfold rows, levels. simpl. repeat constructor; intros f A B; destruct (apart _ _ _ A B) as [P Q]; simpl in P, Q; lra.
    - intros c I. destruct (C (row c) (rows_in_class c I)) as [f [F [A B]]]. exists f. now repeat split. }
  change (length rows) with 16%nat in L.
  replace (4 * 1 ^ 2 * 1 ^ 2 * 1 / (1 / 5) ^ 2) with (10 * 10) in N by field. rewrite ln_mult in N by lra.
  assert (B : INR 16 <= INR (length cover)) by (apply le_INR; exact L). replace (INR 16) with 16 in B by (simpl; ring).
  assert (ln 10 < ln (INR (length cover))) by (apply ln_increasing; lra). lra.
Qed.

Print Assumptions refuted.
