#!/usr/bin/env node
/** The command `lifeboat`, also as `kubectl lifeboat`: see run.ts. */
import { processHost } from "./host.ts";
import { run } from "./run.ts";

process.exitCode = await run(process.argv.slice(2), processHost());
