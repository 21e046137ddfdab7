"""The family tree as data: who came from whom, and where each member that can be trained lives.

Nothing here imports torch: classes are named and only loaded when asked for.
"""

from importlib import import_module
from typing import Any, NamedTuple


class Member(NamedTuple):
    """A member of the family: when, who, from whom."""

    year: int
    name: str
    paper: str
    parent: str = ""

    @property
    def here(self) -> bool:
        """Whether it can be trained."""
        return any(model.member == self.name for model in MODELS)


LINEAGE = (
    Member(1927, "Autoregression", "Yule 1927"),
    Member(1958, "Perceptron", "Rosenblatt 1958"),
    Member(1986, "MLP", "Rumelhart et al. 1986", "Perceptron"),
    Member(1989, "CNN", "LeCun et al. 1989", "MLP"),
    Member(2016, "ResNet", "He et al. 2016", "CNN"),
    Member(1948, "n-gram", "Shannon 1948"),
    Member(2003, "MLP language model", "Bengio et al. 2003", "n-gram"),
    Member(1990, "RNN", "Elman 1990"),
    Member(1997, "LSTM", "Hochreiter & Schmidhuber 1997", "RNN"),
    Member(2014, "GRU", "Cho et al. 2014", "LSTM"),
    Member(2017, "UGRNN", "Collins et al. 2017", "GRU"),
    Member(2014, "RNN encoder-decoder", "Cho et al. 2014", "GRU"),
    Member(2014, "Seq2seq", "Sutskever et al. 2014", "LSTM"),
    Member(2015, "Attentional RNN", "Bahdanau et al. 2015", "Seq2seq"),
    Member(2015, "Show, attend and tell", "Xu et al. 2015", "Attentional RNN"),
    Member(2016, "GNMT", "Wu et al. 2016", "Attentional RNN"),
    Member(2016, "Deep-Att", "Zhou et al. 2016", "Attentional RNN"),
    Member(2016, "ByteNet", "Kalchbrenner et al. 2016", "Seq2seq"),
    Member(2017, "ConvS2S", "Gehring et al. 2017", "ByteNet"),
    Member(2017, "Mixture of experts", "Shazeer et al. 2017", "Attentional RNN"),
    Member(2017, "Transformer", "Vaswani et al. 2017", "Attentional RNN"),
    Member(2021, "GShard", "Lepikhin et al. 2021", "Transformer"),
    Member(2018, "GPT", "Radford et al. 2018", "Transformer"),
    Member(2019, "GPT-2", "Radford et al. 2019", "GPT"),
    Member(2018, "ULMFiT", "Howard & Ruder 2018", "LSTM"),
    Member(2019, "BERT", "Devlin et al. 2019", "Transformer"),
    Member(2019, "RoBERTa", "Liu et al. 2019", "BERT"),
    Member(2019, "DistilBERT", "Sanh et al. 2019", "BERT"),
    Member(2021, "ViT", "Dosovitskiy et al. 2021", "BERT"),
    Member(2021, "SiT", "Atito et al. 2021", "ViT"),
    Member(2021, "DINO", "Caron et al. 2021", "ViT"),
)


class Model(NamedTuple):
    """Where a member of the family lives, for one task; a recipe names it by `kind`.

    `promises` decides which tests of the contract suite run:
      steps      reads left to right, is a Stepper, and stepping equals reading at once
      pads       padding changes nothing
      gradient   learns by descending a loss (the others learn by counting)
      windows    has no state to carry: of a joined text it reads shuffled windows, each on its own
      packs      reads several documents in a row without letting one see another
      begins     reads a first token before each text: BERT's [CLS]
    """

    member: str
    kind: str
    task: str
    module: str
    thing: str
    settings: str
    promises: frozenset[str]

    def load(self, name: str) -> Any:
        """Something from the model's module: its class or its settings."""
        return getattr(import_module(self.module), name)


COUNTED = frozenset({"steps", "pads"})
GRADIENT = frozenset({"gradient"})
READING = GRADIENT | {"pads"}
LEARNT = READING | {"steps"}
HEADED = "seqwright.models.headed"  # the thing is the head, the settings build the body
TRANSFORMER = ("seqwright.models.transformer", "transformer", "TransformerSettings")
BYTENET = ("seqwright.models.bytenet", "bytenet", "ByteNetSettings")
CONVS2S = ("seqwright.models.convs2s", "convs2s", "ConvS2SSettings")
MOE_LSTM = (HEADED, "language_model", "MoELSTMSettings")
MOE_TRANSFORMER = ("seqwright.models.moe_transformer", "moe_transformer", "MoETransformerSettings")
NGRAM = ("seqwright.models.ngram", "Ngram", "NgramSettings")
MLP_LM = (HEADED, "language_model", "MLPLMSettings")
RNN_LM = (HEADED, "language_model", "RecurrentLMSettings")
CLASSIFIER = (HEADED, "pooled_model", "RecurrentClassifierSettings")
VECTOR_TO_SEQUENCE = ("seqwright.models.vector_to_sequence", "vector_to_sequence", "VectorToSequenceSettings")
TAGGER = (HEADED, "token_model", "ReadingSettings")
SEQ2SEQ = ("seqwright.models.seq2seq", "seq2seq", "Seq2SeqSettings")
CONTEXT_RNN = ("seqwright.models.context_rnn", "context_rnn", "ContextRNNSettings")
ATTENTIONAL_RNN = "seqwright.models.attentional_rnn"
BAHDANAU = (ATTENTIONAL_RNN, "bahdanau", "BahdanauSettings")
GNMT = ("seqwright.models.gnmt", "gnmt", "GNMTSettings")
DEEP_ATT = ("seqwright.models.deep_att", "deep_att", "DeepAttSettings")
LUONG = (ATTENTIONAL_RNN, "luong", "LuongSettings")
FORECASTERS = "seqwright.models.forecasters"
GPT = (HEADED, "language_model", "GPTSettings")
MASKED_BERT = ("seqwright.models.bert", "MaskedBert", "MaskedBertSettings", READING)
BERT_CLASSIFIER = (HEADED, "pooled_model", "BertTextSettings", READING | {"begins"})
GPT_CLASSIFIER = (HEADED, "pooled_model", "GPTClassifierSettings", READING | {"begins"})
RNN_LM_CLASSIFIER = (HEADED, "pooled_model", "RecurrentLMClassifierSettings", READING | {"begins"})
BERT_TAGGER = (HEADED, "token_model", "BertHeadSettings", READING | {"begins"})
BERT_ANSWERER = (HEADED, "span_model", "BertHeadSettings", READING)
VIT_CLASSIFIER = (HEADED, "pooled_model", "ViTClassifierSettings", GRADIENT)
CNN_CLASSIFIER = (HEADED, "pooled_model", "CNNClassifierSettings", GRADIENT)
RESNET_CLASSIFIER = (HEADED, "pooled_model", "ResNetClassifierSettings", GRADIENT)
FILM_CLASSIFIER = (HEADED, "pooled_model", "FilmClassifierSettings", READING)
FILM_TRACKER = (HEADED, "token_model", "FilmReadingSettings", READING)
CAPTIONER = ("seqwright.models.captioner", "captioner")
TRANSFORMER_CAPTIONER = (CAPTIONER[0], "transformer_captioner", "TransformerCaptionerSettings", LEARNT)
LEAST_SQUARES = ("seqwright.models.least_squares", "LeastSquaresForecaster", "LeastSquaresSettings")
RNN_FORECASTER = (FORECASTERS, "RecurrentForecaster", "RecurrentForecasterSettings")
MODELS = (
    Model("n-gram", "ngram", "language-modeling", *NGRAM, COUNTED),
    Model("MLP language model", "mlp", "language-modeling", *MLP_LM, LEARNT),
    Model("RNN", "rnn", "language-modeling", *RNN_LM, LEARNT),
    Model("LSTM", "lstm", "language-modeling", *RNN_LM, LEARNT),
    Model("GRU", "gru", "language-modeling", *RNN_LM, LEARNT),
    Model("UGRNN", "ugrnn", "language-modeling", *RNN_LM, LEARNT),
    Model("RNN", "rnn", "vector-to-text", *VECTOR_TO_SEQUENCE, LEARNT),
    Model("LSTM", "lstm", "vector-to-text", *VECTOR_TO_SEQUENCE, LEARNT),
    Model("GRU", "gru", "vector-to-text", *VECTOR_TO_SEQUENCE, LEARNT),
    Model("UGRNN", "ugrnn", "vector-to-text", *VECTOR_TO_SEQUENCE, LEARNT),
    Model("RNN", "rnn", "text-classification", *CLASSIFIER, READING),
    Model("LSTM", "lstm", "text-classification", *CLASSIFIER, READING),
    Model("GRU", "gru", "text-classification", *CLASSIFIER, READING),
    Model("UGRNN", "ugrnn", "text-classification", *CLASSIFIER, READING),
    Model("RNN", "rnn", "series-classification", *CLASSIFIER, READING),
    Model("LSTM", "lstm", "series-classification", *CLASSIFIER, READING),
    Model("GRU", "gru", "series-classification", *CLASSIFIER, READING),
    Model("UGRNN", "ugrnn", "series-classification", *CLASSIFIER, READING),
    Model("RNN", "rnn", "text-regression", *CLASSIFIER, READING),
    Model("LSTM", "lstm", "text-regression", *CLASSIFIER, READING),
    Model("GRU", "gru", "text-regression", *CLASSIFIER, READING),
    Model("UGRNN", "ugrnn", "text-regression", *CLASSIFIER, READING),
    Model("RNN", "rnn", "token-classification", *TAGGER, READING),
    Model("LSTM", "lstm", "token-classification", *TAGGER, READING),
    Model("GRU", "gru", "token-classification", *TAGGER, READING),
    Model("UGRNN", "ugrnn", "token-classification", *TAGGER, READING),
    Model("CNN", "cnn", "image-classification", *CNN_CLASSIFIER),
    Model("ResNet", "resnet", "image-classification", *RESNET_CLASSIFIER),
    Model("ViT", "vit", "image-classification", *VIT_CLASSIFIER),
    Model("RNN", "rnn", "film-classification", *FILM_CLASSIFIER),
    Model("LSTM", "lstm", "film-classification", *FILM_CLASSIFIER),
    Model("GRU", "gru", "film-classification", *FILM_CLASSIFIER),
    Model("UGRNN", "ugrnn", "film-classification", *FILM_CLASSIFIER),
    Model("RNN", "rnn", "film-tracking", *FILM_TRACKER),
    Model("LSTM", "lstm", "film-tracking", *FILM_TRACKER),
    Model("GRU", "gru", "film-tracking", *FILM_TRACKER),
    Model("UGRNN", "ugrnn", "film-tracking", *FILM_TRACKER),
    Model("Autoregression", "least-squares", "forecasting", *LEAST_SQUARES, frozenset()),
    Model("Perceptron", "dense", "forecasting", FORECASTERS, "DenseForecaster", "DenseSettings", GRADIENT),
    Model("MLP", "mlp", "forecasting", FORECASTERS, "MLPForecaster", "MLPSettings", GRADIENT),
    Model("RNN", "rnn", "forecasting", *RNN_FORECASTER, GRADIENT),
    Model("LSTM", "lstm", "forecasting", *RNN_FORECASTER, GRADIENT),
    Model("GRU", "gru", "forecasting", *RNN_FORECASTER, GRADIENT),
    Model("UGRNN", "ugrnn", "forecasting", *RNN_FORECASTER, GRADIENT),
    Model("ByteNet", "bytenet", "translation", *BYTENET, LEARNT),
    Model("ConvS2S", "convs2s", "translation", *CONVS2S, LEARNT),
    Model("RNN encoder-decoder", "context-rnn", "translation", *CONTEXT_RNN, LEARNT),
    Model("Seq2seq", "seq2seq", "translation", *SEQ2SEQ, LEARNT),
    Model("Attentional RNN", "bahdanau", "translation", *BAHDANAU, LEARNT),
    Model("Attentional RNN", "luong", "translation", *LUONG, LEARNT),
    Model("GNMT", "gnmt", "translation", *GNMT, LEARNT),
    Model("Deep-Att", "deep-att", "translation", *DEEP_ATT, LEARNT),
    Model("Mixture of experts", "moe-lstm", "language-modeling", *MOE_LSTM, LEARNT),
    Model("Transformer", "transformer", "translation", *TRANSFORMER, LEARNT),
    Model("Show, attend and tell", "captioner", "image-captioning", *CAPTIONER, "CaptionerSettings", LEARNT),
    Model("Show, attend and tell", "hard-captioner", "image-captioning", *CAPTIONER, "HardCaptionerSettings", LEARNT),
    Model("Transformer", "transformer", "image-captioning", *TRANSFORMER_CAPTIONER),
    Model("GShard", "moe-transformer", "translation", *MOE_TRANSFORMER, LEARNT),
    Model("GPT-2", "gpt", "language-modeling", *GPT, LEARNT | {"windows", "packs"}),
    Model("GPT-2", "gpt", "instruction", *GPT, LEARNT),
    Model("BERT", "bert", "masked-language-modeling", *MASKED_BERT),
    Model("RoBERTa", "roberta", "masked-language-modeling", *MASKED_BERT),
    Model("DistilBERT", "distilbert", "masked-language-modeling", *MASKED_BERT),
    Model("BERT", "bert", "text-classification", *BERT_CLASSIFIER),
    Model("RoBERTa", "roberta", "text-classification", *BERT_CLASSIFIER),
    Model("DistilBERT", "distilbert", "text-classification", *BERT_CLASSIFIER),
    Model("GPT-2", "gpt", "text-classification", *GPT_CLASSIFIER),
    Model("GPT-2", "gpt", "text-regression", *GPT_CLASSIFIER),
    Model("ULMFiT", "lstm-lm", "text-classification", *RNN_LM_CLASSIFIER),
    Model("ULMFiT", "lstm-lm", "text-regression", *RNN_LM_CLASSIFIER),
    Model("BERT", "bert", "text-regression", *BERT_CLASSIFIER),
    Model("RoBERTa", "roberta", "text-regression", *BERT_CLASSIFIER),
    Model("DistilBERT", "distilbert", "text-regression", *BERT_CLASSIFIER),
    Model("BERT", "bert", "token-classification", *BERT_TAGGER),
    Model("RoBERTa", "roberta", "token-classification", *BERT_TAGGER),
    Model("DistilBERT", "distilbert", "token-classification", *BERT_TAGGER),
    Model("BERT", "bert", "question-answering", *BERT_ANSWERER),
    Model("RoBERTa", "roberta", "question-answering", *BERT_ANSWERER),
    Model("DistilBERT", "distilbert", "question-answering", *BERT_ANSWERER),
)


def model_row(kind: str, task: str) -> Model:
    """Where the model lives that a recipe names."""
    return next(model for model in MODELS if model.kind == kind and model.task == task)
