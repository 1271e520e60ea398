/** The requests of `lifeboat drain`, and what it says of their answers. */
import { expect, test } from "vitest";
import { createEvictions } from "../../../infra/cli/drain/rounds.ts";
import { subjectsOf } from "../../../shared/preflight/progress.ts";
import { facts, plainPod } from "../../support/preflight/fixtures.ts";
import { connectionOver } from "./canned-connection.ts";

test("given a webhook that cannot be called, its URL, which holds the token, is not repeated", async () => {
  const message =
    'failed calling webhook "evictions.lifeboat.dev": Post "https://lifeboat.test/clusters/prod/admission/evictions/secret?timeout=10s": EOF';
  const evict = createEvictions(connectionOver(() => ({ code: 500, body: { message } })));
  const said = await evict(subjectsOf(facts({ pods: [plainPod("cart")] })), new Date(0));
  expect([...said.values()]).toEqual([expect.stringContaining('Post "https://lifeboat.test/…": EOF')]);
});
