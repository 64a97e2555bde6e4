(* trauger.lem3.1: Lemma 3.1 as printed is false, and so is the count of points after it.

   Printed, Section 3: "Let  $\mathcal{H}$  be a Hilbert space and let each  $f \in \mathcal{H}$  have the representation  $f = \sum_{i=1}^{d} \alpha_i V_i$  where  $V_i \in \mathcal{H}$ ,  $||V_i|| \leq b$  and  $\alpha_i \geq 0$  with  $\gamma = ||\alpha||_1 \leq 1$ . Then, for any  $k \in \mathbb{N}$ , there exist  $k_1, \ldots, k_d, k_i \in \mathbb{Z}_{\geq 0}, \sum_{i=1}^{d} k_i \leq k$ , such that"
   "\left\| f - \frac{1}{k} \sum_{i=1}^{d} k_i V_i \right\|_2^2 \le \frac{\gamma^2 b^2 - \|f\|^2}{k}"
   "We note that the total amount of  $(k_1, \ldots, k_d)$ 's that fit the criteria above is less than or equal to  $d^k$ ."

   Read here: the Hilbert space is R, with the absolute value as its norm; gamma is the sum of the alpha_i; k >= 1.
   Counterexample: d = 1, V_1 = 1, b = 1, alpha_1 = 1/2, k = 1. Then f = 1/2 and the right side is 0, but 1/2 is neither
   0 nor 1. With gamma b^2 in the place of gamma^2 b^2 the lemma holds. For the count: d = 2, k = 1 allows (0,0), (1,0), (0,1). *)
From Coq Require Import Reals Lra Lia ZArith List.
Import ListNotations.
Local Open Scope R_scope.

Fixpoint sum (l : list R) := match l with nil => 0 | x :: r => x + sum r end.
Fixpoint dot (a : list R) (v : list R) := match a, v with x :: r, y :: s => x * y + dot r s | _, _ => 0 end.

Definition printed := forall (alpha V : list R) (b : R), length alpha = length V ->
  (forall v, In v V -> Rabs v <= b) -> (forall a, In a alpha -> 0 <= a) -> sum alpha <= 1 ->
  forall k : nat, (0 < k)%nat -> exists ks : list nat, length ks = length V /\ (fold_right Nat.add 0 ks <= k)%nat /\
  (dot alpha V - dot (map INR ks) V / INR k) ^ 2 <= ((sum alpha) ^ 2 * b ^ 2 - (dot alpha V) ^ 2) / INR k.
Theorem refuted : ~ printed.
Proof.
  intro H. destruct (H [1/2] [1] 1 eq_refl) with (k := 1%nat) as [ks [L [S B]]]; try lia.
  - intros v [E|[]]; subst. rewrite Rabs_R1. lra.
  - intros a [E|[]]; subst. lra.
  - simpl. lra.
  - destruct ks as [|c [|]]; simpl in L; try discriminate. simpl in S.
    assert (C : c = 0%nat \/ c = 1%nat) by lia. destruct C; subst; simpl in B; lra.
Qed.

Definition printed_count := forall d k (l : list (list nat)), NoDup l ->
  (forall x, In x l -> length x = d /\ (fold_right Nat.add 0 x <= k)%nat) -> (length l <= d ^ k)%nat.
Theorem count_refuted : ~ printed_count.
Proof.
  intro H. specialize (H 2%nat 1%nat [[0;0];[1;0];[0;1]]%nat). simpl in H.
  assert (3 <= 2)%nat; [apply H|lia].
  - repeat constructor; simpl; intuition discriminate.
  - intros x [E|[E|[E|[]]]]; subst; simpl; lia.
Qed.

Definition all := (refuted, count_refuted).
Print Assumptions all.
