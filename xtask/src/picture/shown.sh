ctx-ls --window 32k
ctx-count --window 32k day.jsonl
ctx-compact -n --budget 9000 day.jsonl
ctx-compact --budget 9000 day.jsonl
ctx-rollback --undo day.jsonl   # every byte is back
