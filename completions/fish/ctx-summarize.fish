# Fish completion for ctx-summarize, which computes the values itself.

complete --keep-order --exclusive --command ctx-summarize --arguments "(CTX_COMPLETE=fish ctx-summarize -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
