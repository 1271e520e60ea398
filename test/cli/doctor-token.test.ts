/** `lifeboat doctor` where the API server does not accept Lifeboat's token any more: no firewall is blamed for it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { secrets } from "../../infra/sandbox/actors/resources.ts";
import type { Stage } from "../blackbox/stage.ts";
import { startHealthyStage, trouble } from "./doctor-stage.ts";
import { lifeboat } from "./lifeboat.ts";

let stage: Stage;
beforeAll(async () => void (stage = await startHealthyStage()));
afterAll(() => stage.stop());

test("the Worker's token was revoked: said, with the command that makes another one", async () => {
  const { client, sandbox } = stage;
  const { items } = await client.list(secrets, "lifeboat-system");
  for (const { metadata } of items) await client.delete(secrets, metadata);
  const { code, out } = await lifeboat("doctor", { kubeconfig: sandbox.kubeconfig });
  expect(trouble(out)).toEqual([
    "  × a dry-run eviction of pod vms/POD is not answered by Lifeboat",
    expect.stringMatching(/^ {6}429: .*virt-launcher-eviction-interceptor\.kubevirt\.io/),
    expect.stringMatching(
      /has refused it: most likely the API server does not accept the Worker's token \(see Credentials\)/,
    ),
    "      lifeboat rotate",
    "  × no Secret holds a token of Lifeboat's account",
    "      the Worker's token ends by itself, or was revoked: then Lifeboat can neither read nor move anything",
    "      lifeboat rotate",
  ]);
  expect(code).toBe(3);
});
