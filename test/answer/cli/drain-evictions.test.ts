/** What `lifeboat drain` says of a refusal that the preflight had not foreseen. */
import { expect, test } from "vitest";
import { createEvictions } from "../../../infra/cli/drain/empty-node.ts";
import { subjectsOf } from "../../../shared/preflight/subjects.ts";
import { connectionOver } from "./canned-connection.ts";
import { facts, plainPod } from "../../support/preflight/fixtures.ts";

const SUBJECTS = subjectsOf(facts({ pods: [plainPod("cart")] }));

test("a webhook that cannot be called: its URL, which holds the token, is not repeated", async () => {
  const message =
    'failed calling webhook "evictions.lifeboat.dev": Post "https://lifeboat.test/clusters/prod/admission/evictions/secret?timeout=10s": EOF';
  const cluster = connectionOver(() => ({ code: 500, body: { message } }));
  const said = await createEvictions(cluster).askFor(SUBJECTS, new Date(0));
  expect([...said.values()]).toEqual([expect.stringContaining('Post "https://lifeboat.test/…": EOF')]);
});
