#!/usr/bin/env node
/** Starts the command `lifeboat`, also as `kubectl lifeboat`. */
import { processHost } from "./host.ts";
import { run } from "./run.ts";

process.exitCode = await run(process.argv.slice(2), processHost());
