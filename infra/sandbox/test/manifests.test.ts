/** Manifests as an administrator applies them. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { applyManifests } from "../manifests.ts";
import { type Sandbox, startSandbox } from "../sandbox.ts";
import { MOVES, MOVES_PATH, move } from "./apiserver/custom-resources.ts";

let sandbox: Sandbox;
beforeAll(async () => void (sandbox = await startSandbox({ empty: true })));
afterAll(() => sandbox.stop());

test.each(["Move", "Withdrawn"])(
  "an object may stand before the definition of its kind: applied as %s",
  async (intent) => {
    await applyManifests(sandbox.client, [
      { ...move({ intent }), metadata: { namespace: "default", name: "m" } },
      MOVES,
    ]);
    expect(await sandbox.client.read(`${MOVES_PATH}/m`)).toMatchObject({ spec: { intent } });
  },
);
