(* deora.sec5.3: the printed order of the margins is false.

   Printed, Section 5.3: "Eq. (11) shows that the achieved margin approaches $\gamma_{\text{attn}} := S\sqrt{T}/\sqrt{2}$. Note this is independent of the sparsity level ζ . In particular, $\gamma_{\text{attn}} \geq \gamma_* \geq \gamma_{\text{lin}}$ and the gap increases with decreasing sparsity."
   Printed, (7): "\gamma_* := \frac{T(1-\zeta)\zeta(\zeta S^4 - 7\bar{Z}S^2 - 12\bar{Z}^2 - 16\frac{\bar{Z}^3}{S^2})}{4\sqrt{2(M+1)}} - PT^{5/2}(S+Z)^3 + \frac{S\sqrt{T}\left(\zeta - 2(1-\zeta)\frac{Z_\mu}{S^2}\right)}{\sqrt{2}}"

   Read here: the first inequality, for data without noise (Z = Z_mu = Z_nu = 0) and P = 0, for all
   T >= 1, M >= 1, S > 0 and 0 < zeta < 1. That zeta T is whole is not asked; in the counterexample it is.
   Counterexample: T = 8, zeta = 1/2, M = 1, S = 4. Then gamma_attn = 8 and gamma_* = 36. *)
From Coq Require Import Reals Lra.
Local Open Scope R_scope.

Definition attn (T S : R) := S * sqrt T / sqrt 2.
Definition star (T zeta M S : R) :=
  T * (1 - zeta) * zeta * (zeta * S ^ 4) / (4 * sqrt (2 * (M + 1))) + S * sqrt T * zeta / sqrt 2.
Definition printed := forall T zeta M S, 0 < zeta < 1 -> 0 < S -> 1 <= M -> 1 <= T -> star T zeta M S <= attn T S.

Lemma rt a b : 0 <= b -> a = b * b -> sqrt a = b.
Proof. intros H E. rewrite E. now apply sqrt_square. Qed.
Theorem refuted : ~ printed.
Proof.
  intro H. specialize (H 8 (1/2) 1 4 ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)). unfold star, attn in H.
  assert (Q : 0 < sqrt 2) by (apply sqrt_lt_R0; lra).
  assert (Q2 : sqrt 2 * sqrt 2 = 2) by (apply sqrt_sqrt; lra).
  replace (sqrt 8) with (2 * sqrt 2) in H.
  2:{ symmetry. apply rt; [lra|]. nra. }
  replace (2 * (1 + 1)) with (2 * 2) in H by ring. rewrite (sqrt_square 2) in H by lra.
  replace (4 * (2 * sqrt 2) / sqrt 2) with 8 in H by (field; lra).
  replace (4 * (2 * sqrt 2) * (1 / 2) / sqrt 2) with 4 in H by (field; lra). lra.
Qed.

Print Assumptions refuted.
