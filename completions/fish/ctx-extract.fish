# Fish completion for ctx-extract, which computes the values itself.

complete --keep-order --exclusive --command ctx-extract --arguments "(CTX_COMPLETE=fish ctx-extract -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
