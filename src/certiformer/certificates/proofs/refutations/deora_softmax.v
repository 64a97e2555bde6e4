(* deora.softmax: the printed derivative of the softmax at 0 is false.

   Printed, Section 5.2: "Note that $\varphi'(\mathbf{0}) = \mathbf{I} - \frac{1}{T} \mathbf{1}_T \mathbf{1}_T^\top$."

   Read here: T = 2, the entry (1, 1): the derivative of exp x / (exp x + exp y) in x at x = y = 0 would be 1 - 1/2.
   It is 1/4: the printed matrix lacks the factor 1/T. *)
From Coq Require Import Reals Lra.
Local Open Scope R_scope.

Definition phi1 (x y : R) : R := exp x / (exp x + exp y).
Definition entry (T : R) := 1 - 1 / T.
Definition printed := derivable_pt_lim (fun x => phi1 x 0) 0 (entry 2).

Lemma true_entry : derivable_pt_lim (fun x => phi1 x 0) 0 (1 / 4).
Proof.
  pose proof (derivable_pt_lim_div exp (fun x => exp x + exp 0) 0 (exp 0) (exp 0 + 0)
    (derivable_pt_lim_exp 0)
    (derivable_pt_lim_plus exp (fct_cte (exp 0)) 0 (exp 0) 0
      (derivable_pt_lim_exp 0) (derivable_pt_lim_const (exp 0) 0))) as H.
  cbv beta in H. rewrite exp_0 in *.
  replace (1 / 4) with ((1 * (1 + 1) - (1 + 0) * 1) / Rsqr (1 + 1)) by (unfold Rsqr; field).
  unfold phi1. rewrite exp_0. apply H. lra.
Qed.
Theorem refuted : ~ printed.
Proof. intro H. pose proof (uniqueness_limite _ _ _ _ H true_entry) as E. unfold entry in E. lra. Qed.

Print Assumptions refuted.
