/** Tests that the image contains all files of the server, and that the server reports missing environment variables. */
import { expect, onTestFinished, test } from "vitest";
import { parseEnvironment } from "../../../infra/server/environment.ts";
import { layOutImage, run } from "../../support/relay/image.ts";

test("outside of a pod, the server names missing variables and ends", async () => {
  const image = await layOutImage();
  onTestFinished(() => image.remove());
  const server = run(image, {});
  expect(await server.exited).toBe(2);
  expect(server.lines).toMatchObject([
    { level: "error", message: "invalid environment", variable: "POD_NAME" },
    { level: "error", message: "invalid environment", variable: "KUBERNETES_SERVICE_HOST" },
  ]);
});

const POD = { POD_NAME: "lifeboat-server-a", KUBERNETES_SERVICE_HOST: "10.96.0.1" };

// prettier-ignore
test.each([
  ["LIFEBOAT_CLUSTER", "a/b"],
  ["LIFEBOAT_CLUSTER", ""],
  ["HTTPS_PORT",       "https"],
  ["PORT",             "65536"],
])("the error of %s=%s names the variable", (variable, value) => {
  const parsed = parseEnvironment({ ...POD, [variable]: value });
  expect(parsed.ok ? [] : parsed.problems.map(({ field }) => field)).toEqual([variable]);
});
