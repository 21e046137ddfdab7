"""The texts of the recipes that `new` writes: what depends on the data stands in braces."""

HEAD = """\
# Try it: {check}, then {train}
description = {description}
task = {task}

[data]
train = {files}{columns}
valid = {share:<19}# a share of the same data, or a file of its own
test = {share:<20}# held out until `seqwright eval`
"""
PAIRS = """
[input]
tokenizer = "bpe"          # or unigram, wordpiece, words, characters
vocabulary = {vocabulary}          # at most; shared by both sides
bpe_dropout = 0.1          # resamples the segmentation each epoch: helps small data

[model]
size = "tiny"              # or base, big; every size setting can be given here
dropout = 0.2              # less if there is much data

[training]
steps = {steps}
tokens = 2048              # a batch; halve it if memory is short
schedule = "inverse-sqrt"
rate = 0.002
warmup = 400
"""
PROMPTS = """
[input]
longest = 256              # most tokens of a prompt, and of an answer
"""
ANSWERS = """tokenizer = "bpe"          # or unigram, wordpiece, words, characters
vocabulary = {vocabulary:<14}# at most

[model]
kind = "gpt"
# weights = "runs/GPT"     # a pretrained one, as `seqwright import` makes it: without it little is learnt from a few
                           # thousand prompts
width = 128
heads = 4
layers = 4
context = 520              # tokens of a prompt and its answer together
dropout = 0.1

[training]
epochs = {epochs}
tokens = 2048              # a batch; halve it if memory is short
optimizer = "adamw"
decay = 0.1
schedule = "cosine"
rate = 0.001
clip = 1.0
validate_every = 200
"""
PRONUNCIATIONS = """
[input]
tokenizer = "characters"
shared = false             # letters and sounds have vocabularies of their own
lowercase = true

[output]
tokenizer = "whitespace"   # each sound is a token

[model]
kind = "luong"             # an LSTM with attention; or transformer, gnmt, convs2s
width = 128
embedding = 64
layers = 2
dropout = 0.15

[training]
epochs = {epochs}
tokens = 1024              # a batch
schedule = "cosine"
rate = 0.002
clip = 1.0
validate_every = 500
"""
DOCUMENTS = 'documents = "lines"        # or paragraphs, files\n'
RUNNING_TEXT = """
[input]
tokenizer = "bpe"          # or unigram, wordpiece, words, characters
vocabulary = 4000          # at most
rows = "stream"            # or documents: every document is read on its own
[model]
kind = "lstm"              # or gru, ugrnn, rnn, mlp, ngram
width = 256
[objective]
label_smoothing = 0.0
[training]
steps = {steps:<19}# updates
validate_every = {validate_every}
tokens = 2048              # a batch; halve it if memory is short
schedule = "cosine"
rate = 0.003
"""
MASKED = """
[input]
tokenizer = "wordpiece"    # or bpe, unigram, words
vocabulary = 4000          # at most
lowercase = true
longest = 64               # tokens that are read at once
rows = "full-sentences"    # or sentence-pairs, as in the first BERT, where documents have several sentences

[model]
kind = "bert"
size = "tiny"              # or mini, small, medium, base; every size setting can be given here
context = 64
pooler = false             # for sentence-pairs alone
dropout = 0.0              # more if it overfits

[training]
steps = {steps:<19}# updates
validate_every = {validate_every}
tokens = 2048              # a batch; halve it if memory is short
optimizer = "adamw"
schedule = "cosine"
rate = 0.001
clip = 1.0
"""
TEXTS = """
[input]
tokenizer = "words"        # or characters; bpe where words have many forms or no spaces between them
vocabulary = 10000         # at most
lowercase = true
longest = 400              # tokens of a text that are read, half of them from its end

[model]
kind = "lstm"              # or gru, ugrnn, rnn; it reads in both directions
width = 64
embedding = 64

[training]
epochs = {epochs}
tokens = {tokens:<18}# a batch; small ones learn more from few texts
schedule = "cosine"
rate = 0.003
validate_every = 100
"""
BY_LABEL = 'metric = "accuracy"        # chooses the best checkpoint; macro_f1 where a label is rare\n'
BY_NUMBER = 'metric = "pearson"         # chooses the best checkpoint; or spearman, mse\n'
TAGS = """
[input]
tokenizer = "bpe"          # or unigram, wordpiece, characters; a word of several tokens is tagged at the first
vocabulary = 2000          # at most

[model]
kind = "lstm"              # or gru, ugrnn, rnn; it reads in both directions
width = 128
embedding_dropout = 0.3
word_dropout = 0.2         # words that are hidden in training, so that what stands around them is learnt from too

[training]
epochs = {epochs}
tokens = {tokens:<18}# a batch; small ones learn more from few sentences
schedule = "cosine"
rate = 0.003
clip = 1.0
validate_every = 100
"""
BY_TAGS = "metric = {metric:<18}# chooses the best checkpoint\n"
WINDOWED = """
[input]
longest = 256              # tokens that are read at once: the question and a window of its context
stride = 160               # so much further on begins the next window of a longer context

[output]
longest_answer = 30        # most tokens of an answer
"""
QUESTIONS = """
[model]
kind = "bert"
# weights = "runs/BERT"    # a pretrained one, as `seqwright import` makes it: without it little is learnt from a few
                           # thousand questions

[training]
epochs = {epochs}
tokens = 4096              # a batch; halve it if memory is short
optimizer = "adamw"
schedule = "linear"
rate = 1e-4
clip = 1.0
validate_every = 200
"""
BY_F1 = 'metric = "f1"              # chooses the best checkpoint\n'
STEPS = """\
history = {history:<17}# steps a forecast looks back; let them cover what repeats itself, as a day of hours
horizon = {horizon:<17}# steps it predicts at once
"""
SERIES = """
[input]
scaling = "standard"       # each column less its mean, over its deviation; or none

[model]
kind = "dense"             # one linear layer, quick and a strong baseline; or least-squares, mlp, rnn, ugrnn, gru, lstm

[training]
epochs = {epochs}
tokens = {tokens:<18}# a batch, in values of the past
schedule = "cosine"
rate = 0.003
validate_every = 100
patience = 10              # validations without a better one, and it stops
"""
LABELLED_SERIES = """
[model]
kind = "gru"               # or lstm, ugrnn, rnn; it reads in both directions
width = 64
embedding = 32
dropout = 0.2
embedding_dropout = 0.0
word_dropout = 0.0
pooling = "mean"           # or max, last

[training]
epochs = {epochs}
tokens = {tokens:<18}# steps of all series of a batch; small ones learn more from few series
schedule = "cosine"
rate = 0.003
validate_every = 50
"""
PIXELS = """
[input]
size = {size:<20}# rows and columns of the pixels that are read; larger ones see more and take longer
augment = ["crop", "flip"] # anew in each epoch; without flip where left and right differ: letters, digits
"""
IMAGES = """
[model]
kind = "cnn"               # or resnet; vit, which needs more images
width = 32
stages = {stages}
dropout = 0.1

[training]
epochs = {epochs}
tokens = {tokens:<18}# images of a batch
optimizer = "adamw"
decay = 0.05
schedule = "cosine"
rate = 0.002
warmup = 50
clip = 1.0
validate_every = 100
"""
FRAMES = """
[input]
size = {size:<20}# rows and columns of the frames that are read; larger ones see more and take longer
longest = {longest:<17}# frames that are read of a film, at most
"""
FILMS = """
[model]
kind = "lstm"              # or gru, ugrnn, rnn; it reads the frames in both directions
width = 64
frame_stages = {stages:<12}# of the convolutional network that sees a frame: from stage to stage its sides are halved

[training]
epochs = {epochs}
tokens = {tokens:<18}# frames of a batch
optimizer = "adamw"
decay = 0.01
schedule = "cosine"
rate = 0.002
warmup = 50
clip = 1.0
validate_every = 100
"""
BY_PLACE = 'metric = "place_error"     # chooses the best checkpoint: the mean distance in pixels\n'
SEEN = """
[input]
size = {size:<20}# rows and columns of the pixels that are read; larger ones see more and take longer
# augment = ["colour"]     # anew in each epoch; what crop or flip would make untrue, "left of", they do
"""
CAPTIONS = """
[output]
tokenizer = "words"        # or bpe, unigram, wordpiece, characters
min_frequency = {min_frequency:<11}# rarer words are not learnt

[model]
kind = "captioner"         # or hard-captioner, transformer
encoder = "cnn"            # or resnet; vit, which needs more images
encoder_layers = {stages:<10}# each further one sees more and makes a quarter of the places
width = 256
dropout = 0.3

[objective]
kind = "doubly-stochastic" # every place is looked at about as much
even = 0.1

[training]
epochs = {epochs}
tokens = {tokens:<18}# words of a batch
optimizer = "adamw"
decay = 0.05
schedule = "cosine"
rate = 0.001
clip = 1.0
validate_every = 100
"""
BY_CIDER = 'metric = "cider"           # chooses the best checkpoint\n'
DESCRIBED = """
[output]
tokenizer = {tokenizer:<15}# or words, bpe, unigram, characters

[model]
kind = "gru"               # or lstm, ugrnn, rnn
width = 128
embedding = 32
dropout = 0.2

[training]
epochs = {epochs}
tokens = 1024              # a batch; small ones learn more from few texts
schedule = "cosine"
rate = 0.004
clip = 1.0
validate_every = 100
"""
