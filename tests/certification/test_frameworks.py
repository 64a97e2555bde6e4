"""Frameworks at the door, with the real libraries where they are installed."""

from types import SimpleNamespace

import numpy as np
import pytest

from certiformer.theory.core.errors import InputError
from declaring import asked

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
        report = asked(model, heldout=(X[200:], labels[200:]), train=(X[:200], labels[:200]))
        assert report["holdout"].evidence.errors == int(np.sum(model.predict(X[200:]) != labels[200:]))
        truth = -np.mean(np.log(0.99 * model.predict_proba(X[200:])[np.arange(200), Y[200:]] + 0.005))
        assert report["betting"].terms["observed"] == pytest.approx(truth)
        assert report.document["provenance"]["heldout_inputs_seen_in_training"] == 0
        assert report.document["title"] == "LogisticRegression"

    def test_labels_that_int64_cannot_hold_are_no_classes(self):
        labels = np.array([1e19, 2e19])[Y]
        with pytest.raises(InputError, match="one whole number or name"):
            asked(SimpleNamespace(predict=lambda x: np.where(x[:, 0] > 0, 2e19, 1e19)), heldout=(X[200:], labels[200:]))

    def test_one_that_is_still_to_be_fitted(self):
        linear = pytest.importorskip("sklearn.linear_model")
        estimator = linear.SGDClassifier(loss="hinge")
        report = asked(fit=estimator, data=(X, NAMED), seed=3)
        assert report["holdout"].informative
        assert not hasattr(estimator, "classes_")
        with pytest.raises(InputError, match="a fitted"):
            asked(estimator, heldout=(X[200:], Y[200:]))

    def test_sparse_inputs_and_regressors(self):
        from scipy.sparse import csr_matrix

        report = asked(self.model(), heldout=(csr_matrix(X[200:]), Y[200:]))
        assert report["holdout"].informative
        linear = pytest.importorskip("sklearn.linear_model")
        with pytest.raises(InputError, match="heldout_losses"):
            asked(linear.Ridge().fit(X, Y), heldout=(X, Y))


class TestSeveralLabels:
    """Booleans, and several labels for one example."""

    LABELS = np.stack([Y, X[:, 1] > 0, X[:, 2] > 0.5], axis=1).astype(int)

    @pytest.mark.parametrize("told", [bool, int])
    def test_booleans(self, told):
        linear = pytest.importorskip("sklearn.linear_model")
        model = linear.LogisticRegression().fit(X[:200], Y[:200] == 1)
        report = asked(model, heldout=(X[200:], Y[200:].astype(told)))
        assert report["holdout"].evidence.errors == int(np.sum(model.predict(X[200:]) != Y[200:]))

    @pytest.mark.parametrize("kind", ["multioutput.MultiOutputClassifier", "multiclass.OneVsRestClassifier"])
    def test_the_fraction_of_wrong_labels(self, kind):
        import importlib

        linear = pytest.importorskip("sklearn.linear_model")
        home, name = kind.split(".")
        model = getattr(importlib.import_module(f"sklearn.{home}"), name)(linear.LogisticRegression())
        model.fit(X[:200], self.LABELS[:200])
        report = asked(model, heldout=(X[200:], self.LABELS[200:]), train=(X[:200], self.LABELS[:200]))
        wrong = np.mean(model.predict(X[200:]) != self.LABELS[200:])
        assert report["mean_loss"].evidence.observed == pytest.approx(wrong)
        assert "The mean fraction of wrong labels of the model" in report.headline
        with pytest.raises(InputError, match="an answer for every label"):
            asked(model.predict, heldout=(X[200:], self.LABELS[200:, :2]))

    def test_a_regressor_with_a_clip(self):
        linear = pytest.importorskip("sklearn.linear_model")
        model = linear.Ridge().fit(X[:200], X[:200, 1])
        report = asked(model, heldout=(X[200:], X[200:, 1] + 0.1 * X[200:, 2]), clip=2.0)
        assert "absolute error" in report.headline

    def test_outputs_chooses_the_method(self):
        svm = pytest.importorskip("sklearn.svm")
        three = np.digitize(X[:, 0], [-0.5, 0.5])
        model = svm.SVC().fit(X[:200], three[:200])
        report = asked(model, heldout=(X[200:], three[200:]), outputs="logits")
        assert report.document["provenance"]["asked"] == "decision_function"
        decided = np.argmax(model.decision_function(X[200:]), axis=1)
        assert report["holdout"].evidence.errors == int(np.sum(decided != three[200:]))
        with pytest.raises(InputError, match="pairs of classes"):
            asked(
                svm.SVC(decision_function_shape="ovo").fit(X[:200], three[:200]),
                heldout=(X[200:], three[200:]),
                outputs="logits",
            )

    def test_whole_numbers_that_are_no_labels_are_asked_about(self):
        with pytest.raises(InputError, match='outputs="labels", or outputs="logits"'):
            asked(lambda x: (3 * x[:, 0]).astype(int), heldout=(X, Y))

    def test_a_missing_label_is_refused_with_its_row(self):
        labels = NAMED.astype(object)
        labels[7] = None
        with pytest.raises(InputError, match="Look at example 7"):
            asked(lambda x: np.where(x[:, 0] > 0, "spam", "ham"), heldout=(X, labels))

    def test_a_function_whose_answer_depends_on_the_other_rows_is_asked_row_by_row(self):
        def softmax(x):
            z = np.exp(np.stack([-x[..., 0], x[..., 0]], axis=-1))
            return z / z.sum()

        report = asked(softmax, heldout=(X, Y))
        assert report.document["provenance"]["asked"] == "a function of one example"
        assert report["holdout"].evidence.errors == int(np.sum((X[:, 0] > 0) != Y))


class Frame:
    """As much of a data frame as the door asks for: rows by number, and an array of objects."""

    def __init__(self, cells):
        self.cells = cells
        self.iloc = self

    def __len__(self):
        return len(self.cells)

    def __getitem__(self, part):
        return Frame(self.cells[part])

    def __array__(self, dtype=None, copy=None):
        return np.array(self.cells, dtype=dtype)


class TestTables:
    """Columns of names beside columns of numbers."""

    CELLS = np.array([[name, float(x)] for name, x in zip(NAMED, X[:, 0], strict=True)], dtype=object)

    def test_a_frame_stays_one(self):
        def fit(inputs, labels, seed):
            assert isinstance(inputs, Frame)
            return lambda rows: 4.5 * (np.asarray(rows)[:, 0] == "spam")[:, None] - 2.25

        report = asked(fit=fit, data=(Frame(self.CELLS), Y), batched=True)
        assert report["holdout"].evidence.errors == 0

    def test_rows_seen_in_training_are_found(self):
        model = lambda rows: 4.5 * (np.asarray(rows)[:, 0] == "spam")[:, None] - 2.25  # noqa: E731
        seen = (np.concatenate([self.CELLS[:3], self.CELLS[200:]]), np.concatenate([Y[:3], Y[200:]]))
        with pytest.raises(InputError, match="3 "):
            asked(model, heldout=(self.CELLS[:200], Y[:200]), train=seen, batched=True)

    def test_hashes_are_of_what_stands_there(self):
        """Not of where it stands in memory."""
        told = [
            asked(
                predictions={"heldout_labels": labels, "heldout_predictions": labels}
            ).document["provenance"]["heldout_predictions_sha256"]
            for labels in (NAMED, NAMED.astype(object), np.array(["".join(list(name)) for name in NAMED], dtype=object))
        ]  # fmt: skip
        assert len(set(told)) == 1


class TestTrainerOutput:
    def test_logits(self):
        logits = RANDOM.normal(size=(100, 2)) + 4 * np.eye(2)[Y[:100]]
        output = SimpleNamespace(predictions=(logits, "hidden states"), label_ids=Y[:100], metrics={})
        report = asked(predictions=output)
        assert report["holdout"].evidence.errors == int(np.sum(np.argmax(logits, 1) != Y[:100]))

    def test_tokens_are_counted_by_sequence(self):
        labels = RANDOM.integers(3, size=(60, 5))
        labels[:, 3:] = -100
        logits = 3 * np.eye(3)[np.maximum(labels, 0)]
        logits[0, 0] = logits[0, 0][::-1]
        report = asked(predictions=SimpleNamespace(predictions=logits, label_ids=labels, metrics={}))
        assert report["mean_loss"].evidence.size == 60

    def test_several_labels_at_once(self):
        """Multi-label: the fraction of wrong labels of every example."""
        labels = RANDOM.integers(2, size=(60, 4)).astype(np.float32)
        logits = np.where(labels == 1, 2.0, -2.0)
        logits[::10, 0] *= -1
        output = SimpleNamespace(predictions=logits, label_ids=labels, metrics={})
        found = asked(predictions=output)["mean_loss"]
        assert found.evidence.observed == pytest.approx(6 / 240)
        output.predictions = 1 / (1 + np.exp(-logits))
        with pytest.raises(InputError, match="probabilities"):
            asked(predictions=output)
        again = asked(predictions=output, outputs="probabilities")["mean_loss"]
        assert again.value == found.value
        output.label_ids = None
        with pytest.raises(InputError, match="no column"):
            asked(predictions=output)

    def test_regression_needs_a_clip(self):
        output = SimpleNamespace(predictions=X[:, :1], label_ids=X[:, 1], metrics={})
        with pytest.raises(InputError, match="clip=C"):
            asked(predictions=output)
        report = asked(predictions=output, clip=3.0)
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
            report = asked(module, heldout=heldout, train=(X[:200], Y[:200]))
            assert report["holdout"].evidence.errors == expected
        assert module.training

    def test_a_dataset_and_what_the_module_cannot_take(self):
        torch, module = self.module()
        data = torch.utils.data.TensorDataset(torch.tensor(X[200:]), torch.tensor(Y[200:]))
        expected = int(np.sum((X[200:, 0] > 0) != Y[200:]))
        assert asked(module, heldout=data)["holdout"].evidence.errors == expected
        with pytest.raises(InputError, match="It said"):
            asked(module, heldout=(X[200:, :3], Y[200:]))
        with pytest.raises(InputError, match="clip=C"):
            asked(torch.nn.Linear(4, 1), heldout=(X[200:], X[200:, 1]))

    def test_outputs_that_are_no_logits_are_asked_about(self):
        torch, module = self.module()
        softmax = torch.nn.Sequential(module, torch.nn.Softmax(1))
        plain = asked(module, heldout=(X, Y))["holdout"].evidence.errors
        for options in ({}, {"outputs": "probabilities"}):  # rows that add up to 1 are nothing else
            said = asked(softmax, heldout=(X, Y), **options)
            assert said["holdout"].evidence.errors == plain
        with pytest.raises(InputError, match='outputs="probabilities"'):
            asked(torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Sigmoid()), heldout=(X, Y))

        def classes(x):
            return module(torch.tensor(x, dtype=torch.float32)).argmax(1)

        for options in ({}, {"batched": True}, {"outputs": "labels"}):
            assert asked(classes, heldout=(X, Y), **options)["holdout"].evidence.errors == plain

    def test_dictionaries_and_tuples(self):
        torch, module = self.module()

        class Named(torch.nn.Module):
            def __init__(self, make):
                super().__init__()
                self.inside, self.make = module, make

            def forward(self, x):
                return self.make(self.inside(x), x)

        plain = asked(module, heldout=(X, Y))["holdout"].evidence.errors
        for make in (
            lambda z, x: {"logits": z, "hidden": x},
            lambda z, x: {"probs": z.softmax(1), "hidden": x},
            lambda z, x: {"out": z},
            lambda z, x: (z, x),
        ):
            assert asked(Named(make), heldout=(X, Y))["holdout"].evidence.errors == plain
        with pytest.raises(InputError, match="one of logits, probabilities"):
            asked(Named(lambda z, x: {"a": z, "b": x}), heldout=(X, Y))
        with pytest.raises(InputError, match="Return the labels alone"):
            asked(Named(lambda z, x: z.max(1)), heldout=(X, Y))
        with pytest.raises(InputError, match="than in another batch"):
            asked(Named(lambda z, x: z - z.mean(0)), heldout=(X, Y))

    def test_every_part_is_left_as_it_was(self):
        torch, module = self.module()
        whole = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5), module)
        whole[0].eval()
        asked(whole, heldout=(X, Y))
        assert [whole.training, whole[0].training, whole[1].training] == [True, False, True]

    def test_a_model_of_the_unlabelled_is_asked_in_evaluation_mode(self):
        torch, module = self.module()
        first, final = (torch.nn.Sequential(module, torch.nn.Dropout(0.5)) for _ in range(2))
        for unlabelled in (X[:200], torch.tensor(X[:200])):
            report = asked(first, final=final, unlabelled=unlabelled, heldout=(X[200:], Y[200:]))
            assert report["disagreement"].evidence.disagreements == 0
        assert first[1].training

    def test_a_loader_drops_nothing_and_says_what_fails(self):
        torch, module = self.module()
        data = torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor(Y))
        with pytest.raises(InputError, match="drop_last=False"):
            asked(module, heldout=torch.utils.data.DataLoader(data, batch_size=64, drop_last=True))
        batches = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(data), 64, drop_last=True)
        with pytest.raises(InputError, match="drop_last=False"):
            asked(module, heldout=torch.utils.data.DataLoader(data, batch_sampler=batches))
        with pytest.raises(InputError, match="It said: index out of range"):
            asked(torch.nn.Embedding(3, 2), heldout=(np.arange(60), Y[:60]))
        with pytest.raises(InputError, match=r"fit\(inputs, labels, seed\)"):
            asked(fit=module, data=(X, Y))

    def test_batches_by_name_of_any_length(self):
        torch = pytest.importorskip("torch")
        random = np.random.default_rng(3)
        rows = [torch.tensor(random.integers(1, 5, size=int(size))) for size in random.integers(8, 14, size=60)]

        def batches(rows):
            padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
            labels = torch.nn.utils.rnn.pad_sequence([row - 1 for row in rows], batch_first=True, padding_value=-100)
            return {"input": padded, "attention_mask": padded > 0, "labels": labels}

        class Tokens(torch.nn.Module):
            def forward(self, input, attention_mask):
                return torch.nn.functional.one_hot(input.clamp(min=1) - 1, 4).float()

        def loader(size, rows=rows):
            return torch.utils.data.DataLoader(rows, batch_size=size, collate_fn=batches)

        assert {asked(Tokens(), heldout=loader(size))["mean_loss"].evidence.observed for size in (1, 7, 60)} == {0.0}
        with pytest.raises(InputError, match="60 of 60 that were also used"):
            asked(Tokens(), heldout=loader(7), train=loader(9))
        with pytest.raises(InputError, match="60 of 120 inputs repeat"):
            asked(Tokens(), heldout=loader(7, rows + rows))
        with pytest.raises(InputError, match="pads them"):
            asked(Tokens(), heldout=torch.utils.data.DataLoader(rows, batch_size=7))

    def test_tokens_of_any_width_are_the_same_rows(self):
        """Rows that were filled up to another width were not found among those trained on."""
        torch = pytest.importorskip("torch")

        class Sign(torch.nn.Module):
            def forward(self, x):
                return torch.nn.functional.one_hot(x[:, 0] % 2, 2).float() * 3 - 1

        tokens = np.random.default_rng(4).integers(1, 99, size=(60, 5))
        labels = tokens[:, 0] % 2
        wider = np.pad(tokens, ((0, 0), (0, 2)))
        with pytest.raises(InputError, match="60 of 60 that were also used"):
            asked(Sign(), heldout=(tokens, labels), train=(wider, labels))

        def batches(filled):
            parts = [slice(start, start + 20) for start in range(0, 60, 20)]
            kept = [
                np.pad(tokens[one], ((0, 0), (1, place)), constant_values=filled) for place, one in enumerate(parts)
            ]
            rows = [(torch.tensor(x[:, 1:]), torch.tensor(labels[one])) for x, one in zip(kept, parts, strict=True)]
            return torch.utils.data.DataLoader(rows, batch_size=None, collate_fn=lambda row: row)

        assert "repeated_inputs" in asked(Sign(), heldout=batches(0)).document["provenance"]
        assert any("repeat" in text for text in asked(Sign(), heldout=batches(100)).document["not_checked"])

    def test_the_tokens_of_the_input_are_no_labels_of_their_places(self):
        torch = pytest.importorskip("torch")
        tokens = np.random.default_rng(5).integers(0, 9, size=(60, 6))
        for model in (torch.nn.Embedding(9, 9), lambda x: np.eye(9)[x]):
            with pytest.raises(InputError, match="next token"):
                asked(model, heldout=(tokens, tokens))

    def test_tensors_as_predictions(self):
        torch, module = self.module()
        logits = module(torch.tensor(X, dtype=torch.float32))
        for given in (logits, logits.to(torch.bfloat16)):
            asked(predictions={"heldout_logits": given, "heldout_labels": torch.tensor(Y)})


class TestHuggingFace:
    """Random weights, no network: what `Trainer.predict` and a model return is what is read."""

    def setup(self, kind, **settings):
        torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
        pytest.importorskip("accelerate")
        tokens = torch.tensor(np.random.default_rng(1).integers(0, 50, size=(60, 8)))
        labels = {
            "class": lambda row: row[0] % 3,
            "number": lambda row: row[0].float() / 50,
            "tokens": lambda row: torch.where(row < 45, row % 3, -100),
            "several": lambda row: (row[:3] % 2).float(),
        }[kind]

        class Examples(torch.utils.data.Dataset):
            def __len__(self):
                return len(tokens)

            def __getitem__(self, index):
                return {"input_ids": tokens[index], "labels": labels(tokens[index])}

        small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        sizes = {"vocab_size": 50, "max_position_embeddings": 16, "num_labels": 3}
        config = transformers.BertConfig(**{**small, **sizes, **settings})
        head = "TokenClassification" if kind == "tokens" else "SequenceClassification"
        return torch, transformers, getattr(transformers, f"BertFor{head}")(config), Examples()

    def predicted(self, transformers, model, examples, folder):
        arguments = transformers.TrainingArguments(
            str(folder), per_device_eval_batch_size=32, report_to=[], use_cpu=True, disable_tqdm=True
        )
        return transformers.Trainer(model, arguments).predict(examples)

    @pytest.mark.parametrize("hidden", [False, True])
    @pytest.mark.filterwarnings("ignore")
    def test_classes(self, tmp_path, hidden):
        torch, transformers, model, examples = self.setup("class", output_hidden_states=hidden)
        output = self.predicted(transformers, model, examples, tmp_path)
        assert isinstance(output.predictions, tuple) == hidden
        logits = output.predictions[0] if hidden else output.predictions
        errors = int(np.sum(np.argmax(logits, 1) != output.label_ids))
        assert asked(predictions=output)["holdout"].evidence.errors == errors
        loader = torch.utils.data.DataLoader(examples, batch_size=16)
        for heldout in (loader, examples):
            assert asked(model, heldout=heldout)["holdout"].evidence.errors == errors

    @pytest.mark.parametrize("kind", ["tokens", "several", "number"])
    @pytest.mark.filterwarnings("ignore")
    def test_losses(self, tmp_path, kind):
        settings = {"several": {"problem_type": "multi_label_classification"}, "number": {"num_labels": 1}}
        _, transformers, model, examples = self.setup(kind, **settings.get(kind, {}))
        output = self.predicted(transformers, model, examples, tmp_path)
        options = {"clip": 3.0} if kind == "number" else {}
        one = asked(predictions=output, **options)["mean_loss"]
        other = asked(model, heldout=examples, **options)["mean_loss"]
        assert one.evidence.size == 60
        assert one.evidence.observed == pytest.approx(other.evidence.observed, abs=1e-6)


class TestJax:
    def test_an_equinox_module(self):
        equinox, jax = pytest.importorskip("equinox"), pytest.importorskip("jax")
        module = equinox.nn.MLP(4, 2, 8, 1, key=jax.random.key(0))
        report = asked(module, heldout=(X[200:], Y[200:]), train=(X[:200], Y[:200]))
        logits = np.asarray(jax.vmap(module)(X[200:].astype(np.float32)))
        assert report["holdout"].evidence.errors == int(np.sum(np.argmax(logits, 1) != Y[200:]))

    def test_what_a_module_says_is_one_line(self):
        equinox, jax = pytest.importorskip("equinox"), pytest.importorskip("jax")
        parts = [equinox.nn.Linear(4, 2, key=jax.random.key(0)), equinox.nn.Dropout(0.5)]
        with pytest.raises(InputError, match="It said: Dropout requires a key"):
            asked(equinox.nn.Sequential(parts), heldout=(X, Y))

    def test_functions(self):
        jax = pytest.importorskip("jax")
        weights = jax.numpy.array([[-5.0, 0, 0, 0], [5.0, 0, 0, 0]])
        expected = int(np.sum((X[200:, 0] > 0) != Y[200:]))
        for model, options in (
            (lambda x: weights @ x, {}),
            (lambda x: x @ weights.T, {"batched": True}),
            (lambda w, x: w @ x, {"params": weights}),
        ):
            report = asked(model, heldout=(X[200:], Y[200:]), **options)
            assert report["holdout"].evidence.errors == expected

    @pytest.mark.filterwarnings("ignore")
    def test_flax(self):
        jax, linen = pytest.importorskip("jax"), pytest.importorskip("flax.linen")
        module = linen.Dense(2)
        variables = module.init(jax.random.key(0), X[:1].astype(np.float32))
        expected = np.argmax(np.asarray(module.apply(variables, X[200:].astype(np.float32))), 1) != Y[200:]
        heldout = (X[200:], Y[200:])
        report = asked(module.apply, params=variables, heldout=heldout)
        assert report["holdout"].evidence.errors == int(expected.sum())
        nnx = pytest.importorskip("flax.nnx")
        dense = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
        answers = np.argmax(np.asarray(dense(X[200:].astype(np.float32))), 1)
        for options in ({"batched": True}, {}):
            found = asked(dense, heldout=heldout, **options)["holdout"].evidence.errors
            assert found == int(np.sum(answers != Y[200:]))
