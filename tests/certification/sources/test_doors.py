"""Frameworks at the door, with the real libraries where they are installed."""

from types import SimpleNamespace

import numpy as np
import pytest

import certiformer
from certiformer.core.errors import InputError

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(400, 4))
Y = (X[:, 0] + 0.3 * RANDOM.normal(size=400) > 0).astype(int)
NAMED = np.array(["ham", "spam"])[Y]


class TestEstimators:
    def model(self, labels=Y, **settings):
        linear = pytest.importorskip("sklearn.linear_model")
        return linear.LogisticRegression(**settings).fit(X[:200], labels[:200])

    @pytest.mark.parametrize("labels", [Y, NAMED, Y + 1])
    def test_a_fitted_classifier(self, labels):
        model = self.model(labels)
        report = certiformer.certify(model, heldout=(X[200:], labels[200:]), train=(X[:200], labels[:200]))
        assert report["holdout"].evidence.errors == int(np.sum(model.predict(X[200:]) != labels[200:]))
        truth = -np.mean(np.log(0.99 * model.predict_proba(X[200:])[np.arange(200), Y[200:]] + 0.005))
        assert report["betting"].terms["observed"] == pytest.approx(truth)
        assert report.document["provenance"]["heldout_inputs_seen_in_training"] == 0
        assert report.document["title"] == "LogisticRegression"

    def test_one_that_is_still_to_be_fitted(self):
        linear = pytest.importorskip("sklearn.linear_model")
        estimator = linear.SGDClassifier(loss="hinge")
        report = certiformer.certify(fit=estimator, data=(X, NAMED), seed=3)
        assert report["holdout"].informative
        assert not hasattr(estimator, "classes_")
        with pytest.raises(InputError, match="a fitted"):
            certiformer.certify(estimator, heldout=(X[200:], Y[200:]))

    def test_sparse_inputs_and_regressors(self):
        from scipy.sparse import csr_matrix

        report = certiformer.certify(self.model(), heldout=(csr_matrix(X[200:]), Y[200:]))
        assert report["holdout"].informative
        linear = pytest.importorskip("sklearn.linear_model")
        with pytest.raises(InputError, match="heldout_losses"):
            certiformer.certify(linear.Ridge().fit(X, Y), heldout=(X, Y))


class TestTrainerOutput:
    def test_logits(self):
        logits = RANDOM.normal(size=(100, 2)) + 4 * np.eye(2)[Y[:100]]
        output = SimpleNamespace(predictions=(logits, "hidden states"), label_ids=Y[:100], metrics={})
        report = certiformer.certify(predictions=output)
        assert report["holdout"].evidence.errors == int(np.sum(np.argmax(logits, 1) != Y[:100]))

    def test_tokens_are_counted_by_sequence(self):
        labels = RANDOM.integers(3, size=(60, 5))
        labels[:, 3:] = -100
        logits = 3 * np.eye(3)[np.maximum(labels, 0)]
        logits[0, 0] = logits[0, 0][::-1]
        report = certiformer.certify(predictions=SimpleNamespace(predictions=logits, label_ids=labels, metrics={}))
        assert report["mean_loss"].evidence.size == 60

    def test_regression_needs_a_clip(self):
        output = SimpleNamespace(predictions=X[:, :1], label_ids=X[:, 1], metrics={})
        with pytest.raises(InputError, match="clip=C"):
            certiformer.certify(predictions=output)
        report = certiformer.certify(predictions=output, clip=3.0)
        assert report["mean_loss"].value < 3.0


class TestTorch:
    def module(self):
        torch = pytest.importorskip("torch")
        module = torch.nn.Linear(4, 2)
        with torch.no_grad():
            module.weight.copy_(torch.tensor([[-5.0, 0, 0, 0], [5.0, 0, 0, 0]]))
            module.bias.zero_()
        return torch, module.train()

    def test_a_module_with_arrays_tensors_or_a_loader(self):
        torch, module = self.module()
        expected = int(np.sum((X[200:, 0] > 0) != Y[200:]))
        data = torch.utils.data.TensorDataset(torch.tensor(X[200:]), torch.tensor(Y[200:]))
        loader = torch.utils.data.DataLoader(data, batch_size=64)
        for heldout in ((X[200:], Y[200:]), (torch.tensor(X[200:]), torch.tensor(Y[200:])), loader):
            report = certiformer.certify(module, heldout=heldout, train=(X[:200], Y[:200]))
            assert report["holdout"].evidence.errors == expected
        assert module.training

    def test_tensors_as_predictions(self):
        torch, module = self.module()
        logits = module(torch.tensor(X, dtype=torch.float32))
        for given in (logits, logits.to(torch.bfloat16)):
            certiformer.certify(predictions={"heldout_logits": given, "heldout_labels": torch.tensor(Y)})
