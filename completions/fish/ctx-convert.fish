# Fish completion for ctx-convert, which computes the values itself.

complete --keep-order --exclusive --command ctx-convert --arguments "(CTX_COMPLETE=fish ctx-convert -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
