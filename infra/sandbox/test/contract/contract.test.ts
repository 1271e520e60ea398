/**
 * Compares the API server with recorded answers of kube-apiserver 1.36. With LIFEBOAT_CONTROL_PLANE=DIR, the requests
 * go to a real server, and `-u` records its answers.
 */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Hook } from "./hook.ts";
import { Names } from "./names.ts";
import { load, play, render } from "./scenario.ts";
import { connect, type Server } from "./server.ts";

const FOLDER = new URL("scenarios/", import.meta.url);
/** The file with the scenarios that need the disruption controller. */
const CONTROLLED = "kube-1.36.json";
/** The file with the scenarios that create CRDs. This file runs first, because other scenarios need these CRDs. */
const DEFINITIONS = "a-definitions.json";
const OTHERS = readdirSync(FOLDER).filter((name) => name !== CONTROLLED && name !== DEFINITIONS);

describe.each([
  ["kube-apiserver", false, [DEFINITIONS, ...OTHERS]],
  ["kube-apiserver and the disruption controller", true, [CONTROLLED]],
])("%s", (_, controllers, scenarios) => {
  let server: Server;
  const hook = new Hook();

  beforeAll(async () => {
    server = await connect({ controllers });
    await hook.start();
  });
  afterAll(async () => {
    hook.stop();
    await server.stop();
  });

  test.each(scenarios)("the scenario %s gets the recorded answers", { timeout: 300_000 }, async (name) => {
    const file = new URL(name, FOLDER);
    const steps = load(file);
    const names = new Names({ "<hook>": hook.url, "<ca>": hook.caBundle });
    const played = await play({ server, hook, names }, steps);
    if (server.isReal) await expect(render(played)).toMatchFileSnapshot(fileURLToPath(file));
    else expect(played).toEqual(steps);
  });
});
