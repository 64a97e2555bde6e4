(* deora.eq14: the printed consequence of Taylor's theorem is false: the inequality is the wrong way round.

   Printed, Section 6.1: "Now, using Taylor's theorem we can link $\widehat{L}(\theta_k)$ to $\widehat{L}(\theta)$ for any θ as follows:"
   "\widehat{L}(\theta) \leq \widehat{L}(\theta_k) + \langle \nabla \widehat{L}(\theta_k), \theta - \theta_k \rangle + \frac{1}{2} \min_{\theta_{k_\alpha}} \lambda_{\min}(\nabla^2 \widehat{L}(\theta_{k_\alpha})) \|\theta - \theta_k\|^2, \quad (14)"
   "where $\theta_{k_\alpha} := \alpha \theta_k + (1 - \alpha) \theta$, $\alpha \in [0, 1]$."

   Read here: the step as it is argued, that is for every twice differentiable loss L, with one parameter. L1 and L2 are
   the first two derivatives of L, m the least value of L2 between the two points. The loss of the paper is one of these;
   that (14) fails for it too is shown by the audit, in floating point, not here.
   Counterexample: L(x) = x^2 + x^4, theta_k = 0, theta = 1. Then L2(x) = 2 + 12 x^2 >= 2, and 2 <= 0 + 0 + 2/2 is false. *)
From Coq Require Import Reals Lra.
Local Open Scope R_scope.

Definition printed := forall (L L1 L2 : R -> R) (theta_k theta m : R),
  (forall x, derivable_pt_lim L x (L1 x)) -> (forall x, derivable_pt_lim L1 x (L2 x)) ->
  (forall alpha, 0 <= alpha <= 1 -> m <= L2 (alpha * theta_k + (1 - alpha) * theta)) ->
  (exists alpha, 0 <= alpha <= 1 /\ L2 (alpha * theta_k + (1 - alpha) * theta) = m) ->
  L theta <= L theta_k + L1 theta_k * (theta - theta_k) + 1 / 2 * m * (theta - theta_k) ^ 2.

Definition L (x : R) := x ^ 2 + x ^ 4.
Definition L1 (x : R) := 2 * x + 4 * x ^ 3.
Definition L2 (x : R) := 2 + 12 * x ^ 2.

Lemma power n x : derivable_pt_lim (fun y => y ^ n) x (INR n * x ^ pred n).
Proof. exact (derivable_pt_lim_pow x n). Qed.
Lemma first x : derivable_pt_lim L x (L1 x).
Proof.
  pose proof (derivable_pt_lim_plus _ _ x _ _ (power 2 x) (power 4 x)) as H.
  replace (L1 x) with (INR 2 * x ^ pred 2 + INR 4 * x ^ pred 4) by (unfold L1; simpl; ring). exact H.
Qed.
Lemma second x : derivable_pt_lim L1 x (L2 x).
Proof.
  pose proof (derivable_pt_lim_plus _ _ x _ _
    (derivable_pt_lim_scal _ 2 x _ (derivable_pt_lim_id x)) (derivable_pt_lim_scal _ 4 x _ (power 3 x))) as H.
  replace (L2 x) with (2 * 1 + 4 * (INR 3 * x ^ pred 3)) by (unfold L2; simpl; ring). exact H.
Qed.
Theorem refuted : ~ printed.
Proof.
  intro H. specialize (H L L1 L2 0 1 2 first second).
  assert (B : L 1 <= L 0 + L1 0 * (1 - 0) + 1 / 2 * 2 * (1 - 0) ^ 2).
  { apply H.
    - intros alpha _. unfold L2. pose proof (pow2_ge_0 (alpha * 0 + (1 - alpha) * 1)). lra.
    - exists 1. split; [lra|]. unfold L2. ring. }
  unfold L, L1 in B. simpl in B. lra.
Qed.

Print Assumptions refuted.
