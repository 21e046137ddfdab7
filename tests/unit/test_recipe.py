"""Recipes: what is not known is refused in a sentence that helps; what is known comes back as it was written."""

from pathlib import Path
from typing import Any

import pytest

from seqwright.errors import SettingError
from seqwright.older_names import RENAMED
from seqwright.overrides import with_overrides
from seqwright.recipe import (
    FORMAT,
    flattened,
    parsed,
    read_recipe,
    recipe_from,
    shipped,
    validated,
    written,
)
from seqwright.recipe_checks import refuse_unknown_metric
from tests.pages import setting_names

COPY = 'task = "translation"\n[data]\ncard = "copy"\n'


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def read(text: str, *overrides: str, name: str = "mine.toml") -> Any:
    Path(name).write_text(text, encoding="utf-8")
    return read_recipe(name, overrides)


def complaint(text: str, *overrides: str) -> str:
    with pytest.raises(SettingError) as error:
        read(text, *overrides)
    return str(error.value)


# ------------------------------------------------------------------------------------------------ strictness


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (COPY + "[training]\nstpes = 5", "there is no setting 'training.stpes'. Did you mean 'training.steps'?"),
        (COPY + "[model]\nwdith = 8", "there is no setting 'model.wdith'. Did you mean 'model.width'?"),
        (COPY + "[trainning]\nsteps = 5", "there is no setting 'trainning'. Did you mean 'training'?"),
        ('nmae = "x"\n' + COPY, "there is no setting 'nmae'. Did you mean 'name'?"),
    ],
)
def test_an_unknown_setting_is_refused_and_the_nearest_offered(text: str, sentence: str) -> None:
    assert complaint(text) == sentence


@pytest.mark.parametrize(
    ("text", "beginning", "end"),
    [
        (COPY + '[training]\nsteps = "many"', "training.steps: input should be a valid integer", "not 'many'"),
        (COPY + "[training]\nsteps = 0", "training.steps: input should be greater than or equal to 1", "not 0"),
        (COPY + "[training]\nsteps = 2.5", "training.steps: input should be a valid integer", "not 2.5"),
        (COPY + "[training]\nbetas = [0.9]", "training.betas", ""),
        (COPY + '[model]\nsize = "huge"', "model.size: input should be 'tiny', 'base' or 'big'", "not 'huge'"),
        (COPY + "[model]\ndropout = 1.5", "model.dropout: must be at least 0 and below 1", ""),
        (
            COPY + '[input]\noverlong = "skip"',
            "input.overlong: input should be 'drop', 'truncate' or 'refuse'",
            "'skip'",
        ),
        (COPY + "[decoding]\nbeam = -1", "decoding.beam: input should be greater than or equal to 1", "not -1"),
    ],
)
def test_a_mistyped_setting_is_refused_by_name_with_what_was_given(text: str, beginning: str, end: str) -> None:
    said = complaint(text)
    assert said.startswith(beginning)
    assert said.endswith(end)


def test_true_is_not_a_number_of_steps() -> None:
    assert complaint(COPY + "[training]\nsteps = true").startswith("training.steps")


def test_a_name_that_is_no_text_is_refused() -> None:
    assert "name" in complaint("name = 5\n" + COPY)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ('task = "translation"\n[data]\n', "data.train"),
        ('task = "translation"', "data.train"),
        ('task = "translation"\n[data]\ncard = "multi30k"\ntarget = "en"', "data.source"),
    ],
)
def test_a_missing_setting_is_named(text: str, missing: str) -> None:
    assert complaint(text).startswith(f"the setting '{missing}' is missing;")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (COPY + "[model]\nwidth = 10\nheads = 3", "width 10 does not divide into 3 heads"),
        (COPY + '[training]\naverage = "last"', "needs keep >= 5"),
        (COPY + "[decoding]\nbeam = 4\ntemperature = 1.0", "set beam = 1 or temperature = 0"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(text: str, said: str) -> None:
    assert said in complaint(text)


def test_an_unknown_card_is_refused_with_the_nearest() -> None:
    said = complaint('task = "translation"\n[data]\ncard = "revers"')
    assert said == "there is no dataset card 'revers'. Did you mean 'reverse'?"
    assert complaint('task = "translation"\n[data]\ncard = [1]').startswith("there is no dataset card '[1]'")


def test_a_card_of_another_tasks_examples_is_refused_with_those_that_fit() -> None:
    said = complaint('task = "translation"\n[data]\ncard = "sst2"')
    assert said.startswith("sst2 has labelled texts, and translation reads pairs: choose another card (multi30k, ")
    assert said.endswith("or the task text-classification or text-regression")
    assert "mappings has prompts with examples" in complaint('task = "translation"\n[data]\ncard = "mappings"')


@pytest.mark.parametrize("text", ["", '[data]\ntrain = "x.tsv"', 'task = "translatoin"\n[data]\ntrain = "x.tsv"'])
def test_a_recipe_without_a_task_is_refused_with_the_tasks_there_are(text: str) -> None:
    said = complaint(text)
    assert 'write task = "…" at its top; there are translation, summarization, ' in said
    assert said.endswith("Did you mean 'translation'?") == ("translatoin" in text)
    assert ", for sst2 perhaps text-classification or text-regression;" in complaint('[data]\ncard = "sst2"')


@pytest.mark.parametrize(
    ("data", "instead"),
    [
        ('kind = "labelled-card"\nname = "stsb"', 'or "text-regression" at the top, and card = "stsb" under [data]'),
        ('kind = "guests"', 'task = "question-answering" at the top, and card = "guests" under [data] in its place'),
        ('kind = "series"\ntrain = "x.csv"', 'task = "forecasting" at the top, and leave it out'),
    ],
)
def test_data_of_the_old_form_is_refused_with_what_to_write_instead(data: str, instead: str) -> None:
    said = complaint(f"[data]\n{data}")
    assert said.startswith("'mine' is of an older form: data.kind is gone; write task = ")
    assert instead in said


def test_old_names_of_data_settings_are_refused_with_the_new_ones() -> None:
    text = 'task = "text-classification"\n[data]\ntrain = "x.tsv"\n'
    assert complaint(text + "second = 3") == "'data.second' is called data.text_pair now"


@pytest.mark.parametrize(
    ("task", "setting", "now"),
    [
        ("language-modeling", "input.joined=true", "'input.joined' is called input.rows now"),
        ("language-modeling", "input.kind=bpe", "'input.kind' is called input.tokenizer now"),
        ("forecasting", "input.kind=none", "'input.kind' is called input.scaling now"),
        ("vector-to-text", "input.kind=bpe", "'input.kind' is called output.tokenizer now"),
        ("question-answering", "input.answer=9", "'input.answer' is called output.longest_answer now"),
        ("text-classification", "model.take=2", "'model.take' is called model.init_layers now"),
        (
            "text-classification",
            "objective.weights=balanced",
            "'objective.weights' is called objective.class_weights now",
        ),
        ("text-regression", "objective.kind=rating", "It is called 'regression' now."),
        ("text-classification", "objective.kind=distilled-labels", "It is called 'label-distillation' now."),
        ("text-classification", "input.tokenizer=spaced", "It is called 'whitespace' now."),
    ],
)
def test_old_names_are_refused_with_the_new_ones(task: str, setting: str, now: str) -> None:
    assert complaint(f'task = "{task}"\n[data]\ntrain = "x.tsv"\n', setting).endswith(now)


def test_an_old_name_of_other_models_is_refused_with_the_new_one() -> None:
    text = 'task = "translation"\n[data]\ncard = "copy"\n[model]\nkind = "moe-transformer"\nchosen = 2'
    assert complaint(text) == "'model.chosen' is called model.experts_per_token now"


def test_old_names_of_scores_are_refused_with_the_new_ones() -> None:
    with pytest.raises(SettingError, match=r"It is called 'word_error_rate' now\.$"):
        refuse_unknown_metric("word_error", ("loss", "word_error_rate"))


def test_every_new_name_is_one() -> None:
    known = {f"{section}.{name}" for section, names in setting_names().items() for name in names}
    assert {now for several in RENAMED.values() for now in several} <= known
    assert known.isdisjoint(RENAMED)


@pytest.mark.parametrize("kind", ["5", "[1, 2]", "true"])
def test_a_kind_that_is_no_word_is_refused(kind: str) -> None:
    assert "model.kind" in complaint(COPY + f"[model]\nkind = {kind}")


def test_a_key_of_another_section_is_told_where_it_belongs() -> None:
    assert complaint(COPY + '[input]\nscores = "rouge"') == "there is no setting 'input.scores'; it belongs to [output]"
    assert complaint(COPY + "[output]\nshared = false") == "there is no setting 'output.shared'; it belongs to [input]"
    waves = 'task = "forecasting"\n[data]\ncard = "waves"\n'
    assert complaint(waves + "[input]\nseason = 3").endswith("it belongs to [output]")


def test_nothing_can_be_set_of_an_output_without_settings() -> None:
    labelled = 'task = "text-classification"\n[data]\ntrain = "x.tsv"\n[output]\nscores = "bleu"'
    assert complaint(labelled) == "there is no setting 'output.scores'."


def test_a_task_that_is_written_already_is_not_asked_for_again() -> None:
    written = 'task = "forecasting"\n[data]\nkind = "waves"'
    assert complaint(written).endswith('data.kind is gone; write card = "waves" under [data] in its place')


def test_a_kind_where_there_are_none_is_refused_as_an_unknown_setting() -> None:
    assert complaint(COPY + '[training]\nkind = "x"').startswith("there is no setting 'training.kind'.")


def test_a_section_that_is_no_section_is_refused() -> None:
    refusal = "'training' must be a section, [training], not 5"
    assert complaint("training = 5\n" + COPY).startswith(refusal)
    assert complaint("training = 5\n" + COPY, "training.steps=3").startswith(refusal)


def test_what_is_not_toml_is_refused_with_its_line() -> None:
    said = complaint(COPY + "steps = = 5")
    assert "mine.toml is not valid TOML" in said
    assert "line 4" in said


def test_a_recipe_of_another_format_is_refused() -> None:
    assert f"format {FORMAT + 1}" in complaint(f"format = {FORMAT + 1}\n" + COPY)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("there-is-none.toml", "there is no recipe file there-is-none.toml"),
        ("multi30k-de-eng", "Did you mean 'multi30k-de-en'?"),
        ("latin.toml", "it is not UTF-8"),
        ("folder.toml", "could not be read"),
    ],
)
def test_a_recipe_that_cannot_be_read_is_refused_by_name(where: str, said: str) -> None:
    Path("latin.toml").write_bytes('description = "über"'.encode("latin-1"))
    Path("folder.toml").mkdir()
    with pytest.raises(SettingError) as error:
        read_recipe(where)
    assert where in str(error.value)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("where", "meant"),
    [
        ("mien.toml", "mine.toml"),
        ("mine", "mine.toml"),
        ("sub/theirs", "sub/theirs.toml"),
        ("sub/thiers.toml", "sub/theirs.toml"),
        ("dates-demo.toml", "dates-demo"),
    ],
)
def test_a_recipe_nearly_named_is_offered(where: str, meant: str) -> None:
    Path("sub").mkdir()
    for name in ("mine.toml", "sub/theirs.toml"):
        Path(name).write_text(COPY, encoding="utf-8")
    with pytest.raises(SettingError) as error:
        read_recipe(where)
    assert str(error.value).endswith(f" Did you mean '{meant}'?")


def test_a_run_folder_is_no_recipe() -> None:
    Path("runs/mine").mkdir(parents=True)
    Path("runs/mine/resolved.toml").touch()
    with pytest.raises(SettingError, match=r"^runs/mine is a run folder, not a recipe; .* --run runs/mine$"):
        read_recipe("runs/mine")


def test_a_byte_order_mark_is_passed_over() -> None:
    Path("mine.toml").write_text(COPY + "symbols = 7\n", encoding="utf-8-sig")
    assert read_recipe("mine.toml").data.symbols == 7


# ------------------------------------------------------------------------------------------------ overrides


def test_overrides_by_dotted_name_win() -> None:
    overrides = (
        "training.steps = 7",
        "model.dropout=0.25",
        "input.tokenizer=words",
        'data.card="sort"',
        "model.width=64",
    )
    recipe = read(COPY + "[training]\nsteps = 3\nseed = 9\n", *overrides)
    assert (recipe.training.steps, recipe.training.seed, recipe.model.dropout) == (7, 9, 0.25)
    assert (recipe.input.tokenizer, recipe.data.card, recipe.model.width) == ("words", "sort", 64)


def test_the_last_of_two_overrides_wins() -> None:
    assert read(COPY, "training.steps=3", "training.steps=5").training.steps == 5


def test_an_override_may_hold_an_equals_sign_a_list_or_nothing_special() -> None:
    recipe = read('task = "translation"\n[data]\ntrain = "x.tsv"', "data.train=a=b.tsv", "training.betas=[0.8, 0.9]")
    assert recipe.data.train == "a=b.tsv"
    assert recipe.training.betas == (0.8, 0.9)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("training.stpes=5", "there is no setting 'training.stpes'. Did you mean 'training.steps'?"),
        ("trainin.steps=5", "there is no setting 'trainin.steps'. Did you mean 'training.steps'?"),
        ("training.steps", "'training.steps' is not of the form section.key=value, as in training.steps=2000"),
        ("steps=5", "'steps=5' is not of the form section.key=value, as in training.steps=2000"),
    ],
)
def test_an_override_that_cannot_be_meant_is_refused(override: str, sentence: str) -> None:
    assert complaint(COPY, override) == sentence


@pytest.mark.parametrize(
    ("override", "beginning"),
    [
        ("model.cell=gru", "'model.cell' belongs to model.kind "),
        ("data.source=de", "'data.source' belongs to files of your own or to data.card multi30k or dates, and this"),
    ],
)
def test_an_override_of_another_kind_is_told_as_such(override: str, beginning: str) -> None:
    assert complaint(COPY, override).startswith(beginning)
    assert complaint('task = "translation"\n[data]\ntrain = "x.tsv"', "data.symbols=5") == (
        "'data.symbols' belongs to data.card copy or reverse or sort, and this recipe's data is train 'x.tsv'; leave "
        "it out, or choose other data"
    )


def test_another_card_or_file_takes_the_place_of_the_data() -> None:
    assert read(COPY + "symbols = 5\n", "data.card=sort").data.symbols == 5
    assert read(COPY + "symbols = 5\n", "data.card=multi30k", "data.source=de", "data.target=en").data.source == "de"
    assert read(COPY + "symbols = 5\n", "data.train=x.tsv").data.train == "x.tsv"
    assert "'data.train' belongs to files of your own" in complaint(COPY + 'train = "x.tsv"\n')


def test_a_setting_the_user_knows_as_an_option_is_named_so() -> None:
    def said(**given: Any) -> str:
        with pytest.raises(SettingError) as error:
            validated("decoding", given, "translation", {name: f"--{name.replace('_', '-')}" for name in given})
        return str(error.value)

    assert said(top_p=2.0).startswith("--top-p: input should be less than or equal to 1")
    assert said(shortest=9, longest=3).startswith("--shortest, --longest: shortest is 9")


# ------------------------------------------------------------------------------------------------ base


@pytest.fixture
def base() -> str:
    text = 'description = "below"\n' + COPY + "symbols = 7\n[model]\nwidth = 32\nheads = 2\n[training]\nsteps = 3\n"
    Path("base.toml").write_text(text, encoding="utf-8")
    return 'base = "base.toml"\n'


def test_a_base_is_inherited_key_by_key(base: str) -> None:
    recipe = read(base + "[model]\nheads = 4\n[training]\nseed = 5\n")
    assert (recipe.model.width, recipe.model.heads) == (32, 4)
    assert (recipe.training.steps, recipe.training.seed, recipe.data.symbols) == (3, 5, 7)
    assert (recipe.name, recipe.description) == ("mine", "below")


def test_overrides_win_over_recipe_and_base(base: str) -> None:
    recipe = read(base + "[model]\nheads = 4\n", "model.heads=8", "training.steps=11")
    assert (recipe.model.heads, recipe.training.steps) == (8, 11)


def test_a_base_may_have_a_base(base: str) -> None:
    Path("middle.toml").write_text(base + "[training]\nsteps = 4\n", encoding="utf-8")
    recipe = read('base = "middle.toml"\n[training]\nseed = 2\n')
    assert (recipe.training.steps, recipe.training.seed, recipe.model.width) == (4, 2, 32)


def test_a_shipped_recipe_can_be_a_base() -> None:
    below = read_recipe("multi30k-de-en")
    recipe = read('base = "multi30k-de-en"\n[training]\nseed = 17\n')
    assert recipe.model == below.model
    assert recipe.training == below.training.model_copy(update={"seed": 17})


def test_a_kind_with_other_settings_inherits_none_and_one_with_the_same_inherits_all(base: str) -> None:
    recipe = read(base + '[data]\ncard = "sort"\n')
    assert (recipe.data.card, recipe.data.symbols) == ("sort", 7)
    recipe = read(base + '[data]\ncard = "dates"\n')
    assert (recipe.data.card, recipe.data.examples) == ("dates", 40_000)


def test_the_default_kind_written_out_inherits_as_if_it_were_not(base: str) -> None:
    assert read(base + '[model]\nkind = "transformer"\nheads = 4\n').model.width == 32


def test_a_recipe_with_a_base_is_as_strict(base: str) -> None:
    assert complaint(base + "[training]\nstpes = 5\n").startswith("there is no setting 'training.stpes'.")
    assert complaint(base + "[trainning]\nsteps = 5\n").startswith("there is no setting 'trainning'.")
    assert complaint(base + "bsae = 5\n").startswith("there is no setting 'bsae'.")


@pytest.mark.parametrize("text", ['base = "base.toml"\nmodel = 5\n', "base = 5\n", 'base = "mine.toml"\n'])
def test_a_base_or_a_section_over_it_that_cannot_be_meant_is_refused(base: str, text: str) -> None:
    complaint(text)


def test_a_base_that_is_not_there_is_refused_by_name() -> None:
    assert complaint('base = "gone"\n') == "there is no recipe 'gone', neither a file nor one that ships."


# ------------------------------------------------------------------------------------------------ resolved


def test_a_resolved_recipe_has_every_setting_and_reads_back_as_itself() -> None:
    recipe = read(COPY + '[model]\nsize = "tiny"\n[training]\nclip = 1.0\nbetas = [0.9, 0.99]\n')
    plain = recipe.resolved()
    assert plain["format"] == FORMAT
    assert plain["model"]["width"] == 128
    assert plain["training"]["clip"] == 1.0
    again = recipe_from(parsed(written(plain), "resolved.toml"))
    assert again == recipe
    assert again.resolved() == plain


def test_settings_flattened_have_dotted_names() -> None:
    assert flattened({"format": 1, "training": {"steps": 5, "betas": [1, 2]}}) == {
        "format": 1,
        "training.steps": 5,
        "training.betas": [1, 2],
    }


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_recipe_is_short_described_and_reads_back_as_itself(name: str) -> None:
    lines = shipped()[name].read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 26
    recipe = read_recipe(name)
    assert recipe.name == name
    assert recipe.description
    assert recipe_from(parsed(written(recipe.resolved()), name)) == recipe


def test_some_recipes_ship() -> None:
    assert shipped()


# ------------------------------------------------------------------------------------------------ beginnings


def test_a_size_that_the_kind_does_not_have_is_refused_by_name() -> None:
    text = 'task = "language-modeling"\n[data]\ntrain = "x.txt"\n[model]\nkind = "gpt"\nsize = "base"\n'
    assert "model.size" in complaint(text)


def test_another_kind_of_encoder_takes_over_its_sizes_but_not_what_its_kind_says() -> None:
    bert = 'task = "masked-language-modeling"\n[data]\ntrain = "x.txt"\n[model]\nwidth = 24\nlayers = 3\nheads = 2\n'
    before = read(bert, name="bert.toml")
    Path("run").mkdir()
    Path("run/resolved.toml").write_text(written(before.resolved()))
    text = 'task = "text-classification"\n[data]\ntrain = "x.tsv"\n[model]\nweights = "run"\n'
    same, other = read(text), read(text, "model.kind=distilbert")
    assert (same.model.kind, same.model.segments, same.model.pooler) == ("bert", 2, True)
    assert (other.model.kind, other.model.segments, other.model.pooler) == ("distilbert", 0, False)
    assert (other.model.width, other.model.layers) == (24, 3)


def test_a_recipe_or_a_run_of_an_older_form_is_refused_with_what_to_do() -> None:
    with pytest.raises(SettingError, match=r"\[inputs\] is called \[input\] now, and inputs.kind input.tokenizer"):
        recipe_from({"task": "translation", "data": {"card": "copy"}, "inputs": {"kind": "characters"}})
    with pytest.raises(SettingError, match=r"'run' was written by another version .*format 1, .*train it again"):
        recipe_from({"format": 1, "task": "translation", "data": {"card": "copy"}})
    with pytest.raises(SettingError, match=r"'run' was written by another version .*train it again"):
        recipe_from({"format": 2, "data": {"kind": "copy"}})


def test_settings_of_another_kind_fall_away_and_are_told() -> None:
    told: list[str] = []
    plain: dict[str, Any] = {"task": "language-modeling", "model": {"kind": "lstm", "width": 64, "embedding": 32}}
    changed = with_overrides(plain, ["model.kind=ngram", "model.order=3"], told.append)
    assert changed["model"] == {"kind": "ngram", "order": 3}
    assert told == ["model.kind is ngram in place of lstm, and does not know model.width, model.embedding: left out"]
    assert with_overrides(plain, ["model.kind=gru"], told.append)["model"] == {**plain["model"], "kind": "gru"}
    assert len(told) == 1
    assert (
        "width" in with_overrides(plain, ["model.kind=ngram", "model.width=3"], told.append)["model"]
    )  # refused later


def test_an_empty_override_unsets_a_setting() -> None:
    plain: dict[str, Any] = {"task": "language-modeling", "model": {"kind": "lstm", "width": 64}}
    assert with_overrides(plain, ["model.width="])["model"] == {"kind": "lstm"}
    with pytest.raises(SettingError, match=r"Did you mean 'model.width'"):
        with_overrides(plain, ["model.widht="])


# ------------------------------------------------------------------------------------------------ finding a rate


def test_a_rate_is_a_number_or_found() -> None:
    assert read_recipe("names-lstm", ["training.rate=find"]).training.rate == "find"
    for wrong in ("fnd", "-1", "true"):
        with pytest.raises(SettingError, match=r"^training\.rate: .* above 0, or \"find\", not "):
            read_recipe("names-lstm", [f"training.rate={wrong}"])


def test_no_rate_is_found_for_a_model_that_counts() -> None:
    with pytest.raises(SettingError, match="a model of kind ngram counts and has no rate: leave it out"):
        read_recipe("names-bigram", ["training.rate=find"])


def test_no_rate_is_found_where_it_is_a_factor() -> None:
    with pytest.raises(SettingError, match="under schedule = 'noam' the rate is a factor"):
        read_recipe("multi30k-de-en", ["training.rate=find", "training.schedule=noam"])


# ------------------------------------------------------------------------------------------------ names of folders


@pytest.mark.parametrize("name", ["../../x", "..", ".", "a/b", "/tmp/x", "a\\\\b", "a\\nb"])
def test_a_name_that_leads_out_of_the_folder_of_runs_is_refused(name: str) -> None:
    told = complaint(f'name = "{name}"\n{COPY}')
    assert told.startswith("'name' is ")
    assert "it names the folder under runs/: write a plain name such as 'mine'" in told
    assert told.isprintable()


@pytest.mark.parametrize("word", ["name", "description"])
def test_control_characters_are_refused_and_shown_harmlessly(word: str) -> None:
    told = complaint(f'{word} = "a\\u001b[31mred"\n{COPY}')
    assert told == f"'{word}' is 'a\\x1b[31mred', which holds a control character; leave it out"
    assert told.isprintable()


def test_a_name_of_several_words_is_a_name_and_an_empty_one_is_none() -> None:
    assert read(f'name = "día 2 (b).v1"\n{COPY}').name == "día 2 (b).v1"
    assert read(f'name = ""\n{COPY}').name == "mine"


def test_endless_digits_and_brackets_are_refused_in_a_sentence() -> None:
    deep = "[" * 5000 + "]" * 5000
    assert "mine.toml is not valid TOML" in complaint(f"{COPY}[training]\nsteps = {'9' * 6000}\n")
    assert "mine.toml is nested too deeply to be a recipe" in complaint(f"{COPY}[training]\nsteps = {deep}\n")
    for value in ("9" * 6000, deep):
        assert complaint(COPY, f"training.steps={value}").endswith("it has too many digits or brackets")


def test_one_override_is_taken_as_one() -> None:
    assert read_recipe("dates-demo", "training.steps=7").training.steps == 7
