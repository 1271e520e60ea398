/** The example configuration: every key there is, with its default. */
import { load } from "js-yaml";
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { defaultConfiguration, parseConfiguration } from "../../shared/config/lifeboat-configuration.ts";
import { mergeSettings } from "../../shared/config/settings.ts";
import { FEATURE_GATES } from "../../shared/policy/settings.ts";
import { readManifests } from "./shipped.ts";

const [configMap] = readManifests("optional/configuration.yaml");
const { "config.yaml": text } = z.object({ "config.yaml": z.string() }).parse(configMap?.["data"]);

/** The defaults name no gate: one that is not named is off. */
const OFF = Object.fromEntries(FEATURE_GATES.map((gate) => [gate, false]));
const EVERY_KEY = { ...defaultConfiguration(), featureGates: OFF };

test("is the ConfigMap that Lifeboat reads", () => {
  expect(configMap).toMatchObject({ kind: "ConfigMap", metadata: { name: "lifeboat", namespace: "lifeboat-system" } });
});

test("names every key, before any default is filled in", () => {
  expect(load(text)).toEqual(EVERY_KEY);
});

test("is valid, and sets nothing that is not so without it", async () => {
  const parsed = await parseConfiguration(text);
  expect(parsed).toEqual({ ok: true, value: EVERY_KEY });
  expect(parsed.ok && mergeSettings(undefined, parsed.value)).toEqual(mergeSettings(undefined, defaultConfiguration()));
});
