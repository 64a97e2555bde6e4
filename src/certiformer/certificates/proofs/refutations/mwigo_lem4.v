(* mwigo.lem4: the last two steps of the proof of Lemma 4 are false, each by itself.

   Printed, proof of Lemma 4: "From the second condition i.e.,  $\alpha^3 \geq (32\rho^2 z \sqrt{2\Phi(\boldsymbol{\theta}^0)})/\eta_O$ , we can say that  $\Phi(\boldsymbol{\theta}^0) \leq (\alpha^6 \eta_O^2)/(2048\rho^4 z^2)$ ."
   "&= \sqrt{\frac{2\Phi(\boldsymbol{\theta}^t)}{N}} \\ &\leq \min\left(\frac{\alpha^2}{8\rho M \sqrt{N}}, \frac{\alpha^3 \eta_O}{32\rho^4 z \sqrt{N}}\right)"
   "Upper bounding  $\xi_O, \xi_V, \xi_K, \xi_Q$  using  $\eta_O, \eta_V, \eta_K, \eta_Q$ , the upper bound on the empirical loss for all training steps can therefore be written as;"
   "\mathcal{L}_S(f_{\boldsymbol{\theta}^t}) \leq \min\left(\frac{\alpha^2}{8\rho \hat{M} \sqrt{N}}, \frac{\alpha^3 \eta_O}{32\rho^4 \hat{z} \sqrt{N}}\right)"

   Read here: these steps alone, as inequalities between numbers, with rho, z, M and the two with hats as the lemma defines
   them: "$\rho \triangleq N^{1/2} d_s^{3/2} R_X$", "$z \triangleq \eta_O^2 (1 + (4/d_m) R_X^4 d_s^2 \xi_V^2 (\xi_Q^2 + \xi_K^2))$". What the training does is not part of it, only that Phi
   obeys the two conditions; d_s = 1, so that d_s^(3/2) is no root.
   First step: rho^4 should be rho^2. Counterexample: N = 1, R_X = 2, so rho = 2; d_m = 4, all R = 1, all xi = eta = 2,
   alpha = 1, sqrt(2 Phi) = 1/131328, where the second condition is an equality. The bound printed is 1/525312.
   Second step: M and z stand in denominators, so that larger numbers there make the bound smaller, not larger.
   Counterexample: rho = 1 and eta_V = 4 > xi_V = 2. *)
From Coq Require Import Reals Lra.
Local Open Scope R_scope.

Definition rho (N RX : R) := sqrt N * RX.
Definition z (dm RX eO xV xQ xK : R) := eO ^ 2 * (1 + 4 / dm * RX ^ 4 * (xV ^ 2 * (xQ ^ 2 + xK ^ 2))).
Definition M (dm RX eO xV xQ xK RO RV RQ RK : R) :=
  Rmax (Rmax (xV / RO) (eO / RV)) (Rmax (2 / sqrt dm * RX ^ 2 * xK * xV * eO / RQ) (2 / sqrt dm * RX ^ 2 * xQ * xV * eO / RK)).
(* The two conditions on Phi. *)
Definition conditions (alpha r m zz eO Phi : R) :=
  8 * r * m * sqrt (2 * Phi) <= alpha ^ 2 /\ 32 * r ^ 2 * zz * sqrt (2 * Phi) / eO <= alpha ^ 3.

Definition printed_first := forall N dm RX RO RV RQ RK eO xV xQ xK alpha Phi,
  1 <= N -> 1 <= dm -> 0 < RX -> 0 < RO <= eO -> 0 < RV <= xV -> 0 < RQ <= xQ -> 0 < RK <= xK -> 0 < alpha -> 0 <= Phi ->
  let r := rho N RX in let zz := z dm RX eO xV xQ xK in let m := M dm RX eO xV xQ xK RO RV RQ RK in
  conditions alpha r m zz eO Phi ->
  sqrt (2 * Phi / N) <= Rmin (alpha ^ 2 / (8 * r * m * sqrt N)) (alpha ^ 3 * eO / (32 * r ^ 4 * zz * sqrt N)).

Definition printed_second := forall N dm RX RO RV RQ RK eO xV eV xQ eQ xK eK alpha x,
  1 <= N -> 1 <= dm -> 0 < RX -> 0 < RO <= eO -> 0 < RV <= xV -> xV <= eV -> 0 < RQ <= xQ -> xQ <= eQ -> 0 < RK <= xK ->
  xK <= eK -> 0 < alpha ->
  let r := rho N RX in
  x <= Rmin (alpha ^ 2 / (8 * r * M dm RX eO xV xQ xK RO RV RQ RK * sqrt N))
            (alpha ^ 3 * eO / (32 * r ^ 4 * z dm RX eO xV xQ xK * sqrt N)) ->
  x <= Rmin (alpha ^ 2 / (8 * r * M dm RX eO eV eQ eK RO RV RQ RK * sqrt N))
            (alpha ^ 3 * eO / (32 * r ^ 4 * z dm RX eO eV eQ eK * sqrt N)).

Lemma sqrt_4 : sqrt 4 = 2.
Proof. replace 4 with (2 * 2) by ring. apply sqrt_square. lra. Qed.

Theorem first_refuted : ~ printed_first.
Proof.
  intro H. set (s := 1 / 131328). specialize (H 1 4 2 1 1 1 1 2 2 2 2 1 (s * s / 2)).
  assert (S : sqrt (2 * (s * s / 2)) = s).
  { replace (2 * (s * s / 2)) with (s * s) by field. apply sqrt_square. unfold s. lra. }
  assert (S1 : sqrt (2 * (s * s / 2) / 1) = s).
  { replace (2 * (s * s / 2) / 1) with (2 * (s * s / 2)) by field. exact S. }
  assert (R : rho 1 2 = 2) by (unfold rho; rewrite sqrt_1; ring).
  assert (Z : z 4 2 2 2 2 2 = 2052) by (unfold z; field).
  assert (MM : M 4 2 2 2 2 2 1 1 1 1 = 32).
  { unfold M. rewrite sqrt_4. rewrite (Rmax_left (2 / 1)) by lra. rewrite (Rmax_left (2 / 2 * 2 ^ 2 * 2 * 2 * 2 / 1)) by lra.
    rewrite Rmax_right by lra. field. }
  cbv zeta in H. rewrite R, Z, MM, S1, sqrt_1 in H. unfold conditions in H. rewrite S in H.
  assert (B : s <= Rmin (1 ^ 2 / (8 * 2 * 32 * 1)) (1 ^ 3 * 2 / (32 * 2 ^ 4 * 2052 * 1))).
  { apply H; unfold s; try lra. }
  pose proof (Rmin_r (1 ^ 2 / (8 * 2 * 32 * 1)) (1 ^ 3 * 2 / (32 * 2 ^ 4 * 2052 * 1))). unfold s in B. lra.
Qed.

Theorem second_refuted : ~ printed_second.
Proof.
  intro H. specialize (H 1 4 1 1 1 1 1 2 2 4 2 2 2 2 1 (1 / 2112)).
  assert (R : rho 1 1 = 1) by (unfold rho; rewrite sqrt_1; ring).
  assert (Z : z 4 1 2 2 2 2 = 132) by (unfold z; field).
  assert (ZH : z 4 1 2 4 2 2 = 516) by (unfold z; field).
  assert (MM : M 4 1 2 2 2 2 1 1 1 1 = 8).
  { unfold M. rewrite sqrt_4. rewrite (Rmax_left (2 / 1)) by lra. rewrite (Rmax_left (2 / 2 * 1 ^ 2 * 2 * 2 * 2 / 1)) by lra.
    rewrite Rmax_right by lra. field. }
  cbv zeta in H. rewrite R, Z, ZH, MM, sqrt_1 in H.
  assert (B : 1 / 2112 <= Rmin (1 ^ 2 / (8 * 1 * M 4 1 2 4 2 2 1 1 1 1 * 1)) (1 ^ 3 * 2 / (32 * 1 ^ 4 * 516 * 1))).
  { apply H; try lra. apply Rmin_glb; lra. }
  pose proof (Rmin_r (1 ^ 2 / (8 * 1 * M 4 1 2 4 2 2 1 1 1 1 * 1)) (1 ^ 3 * 2 / (32 * 1 ^ 4 * 516 * 1))). lra.
Qed.

Definition all := (first_refuted, second_refuted).
Print Assumptions all.
