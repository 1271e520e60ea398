import { expect, test } from "vitest";
import * as z from "zod/mini";
import { defaultConfiguration, parseConfiguration } from "../../shared/config/lifeboat-configuration.ts";
import { readManifests } from "./shipped.ts";

test("the example configuration is valid, and says the defaults", async () => {
  const [configMap] = readManifests("optional/configuration.yaml");
  expect(configMap).toMatchObject({ kind: "ConfigMap", metadata: { name: "lifeboat", namespace: "lifeboat-system" } });
  const { "config.yaml": text } = z.object({ "config.yaml": z.string() }).parse(configMap?.["data"]);
  expect(await parseConfiguration(text)).toEqual({
    ok: true,
    value: { ...defaultConfiguration(), featureGates: { DeschedulerSupport: false } },
  });
});
