/** Tests that `lifeboat install` reports that a component needs the relay, if the relay is missing. */
import { expect, test } from "vitest";
import { PARTS } from "../../../infra/cli/install/manifests.ts";
import { relayAdvice } from "../../../infra/cli/install/relay-advice.ts";
import type { Home } from "../../../infra/cli/install/plan.ts";

const WORKER: Home = { in: "Worker", url: "https://lifeboat.example/clusters/prod", webhookToken: "t" };
const CLUSTER: Home = { in: "Cluster", image: "lifeboat" };
const ADVICE =
  /^‼ There is no relay, and the guard is on, but it misses deletions for which the API server does not call Lifeboat\. Install the relay:\n/;

// prettier-ignore
test.each([
  // the form,  a part,        the API server's answer about the relay,  the advice
  [WORKER,  "guard",       404, ADVICE],
  [WORKER,  "guard",       200, /^$/],
  [WORKER,  "guard",       403, /^$/],
  [WORKER,  "maintenance", 404, /^$/],
  [CLUSTER, "guard",       404, /^$/],
])("given %o, the part %s and the answer %i about the relay, the advice is printed or not", async (home, wanted, code, advice) => {
  const parts = PARTS.filter(({ name }) => name === wanted);
  expect(parts).toHaveLength(1);
  expect(await relayAdvice({ parts, home }, () => Promise.resolve({ code, body: {}, bytes: 2 }))).toMatch(advice);
});
