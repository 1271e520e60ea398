/** What `lifeboat drain` says of a refusal that the preflight had not foreseen. */
import { expect, test } from "vitest";
import type { Connection } from "../../infra/cli/connection.ts";
import { createEvictions } from "../../infra/cli/drain/empty-node.ts";
import { subjectsOf } from "../../shared/policy/preflight/subjects.ts";
import { facts, plainPod } from "../policy/preflight/fixtures.ts";

const SUBJECTS = subjectsOf(facts({ pods: [plainPod("cart")] }));

function unused(): never {
  throw new Error("not asked");
}

/** A connection whose API server answers everything so. */
function answering(code: number, message: string): Connection {
  return {
    context: "jane@prod",
    server: "https://api.prod",
    namespace: "default",
    cluster: unused,
    send: () => () => Promise.resolve({ code, body: { message }, bytes: 0 }),
    settings: unused,
    refusals: new Map(),
    warnings: new Map(),
    trouble: () => undefined,
  };
}

test("a webhook that cannot be called: its URL, which holds the token, is not repeated", async () => {
  const message =
    'failed calling webhook "evictions.lifeboat.dev": Post "https://lifeboat.test/clusters/prod/admission/evictions/secret?timeout=10s": EOF';
  const said = await createEvictions(answering(500, message), undefined).askFor(SUBJECTS, new Date(0));
  expect([...said.values()]).toEqual([expect.stringContaining('Post "https://lifeboat.test/…": EOF')]);
});
