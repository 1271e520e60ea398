/** Tests how the relay parses its environment. Each message names a wrong variable without its value. */
import { readFileSync } from "node:fs";
import { loadAll } from "js-yaml";
import { describe, expect, test } from "vitest";
import { parseRelayEnvironment } from "../../../infra/relay/config.ts";
import { SECRET } from "./fake-worker.ts";

const VALID = {
  LIFEBOAT_URL: "https://lifeboat.example.com",
  LIFEBOAT_CLUSTER: "prod",
  LIFEBOAT_RELAY_SECRET: SECRET,
  KUBERNETES_SERVICE_HOST: "10.96.0.1",
};

const SITE = new URL("../../../infra/relay/kubernetes/site.yaml", import.meta.url);

test("the shipped site's values are the relay's environment, and its placeholder secret is refused", () => {
  const [map, secret] = loadAll(readFileSync(SITE, "utf8")).map((one) => Object(one));
  const parsed = parseRelayEnvironment({ KUBERNETES_SERVICE_HOST: "10.96.0.1", ...map.data, ...secret.stringData });
  expect(parsed.ok ? [] : parsed.problems.map(({ field }) => field)).toEqual(["LIFEBOAT_RELAY_SECRET"]);
});

describe("the environment", () => {
  test("of a pod is accepted", () => {
    const value = {
      endpoint: new URL("https://lifeboat.example.com/clusters/prod/events"),
      secret: SECRET,
      port: 8080,
    };
    expect(parseRelayEnvironment({ ...VALID, PATH: "/usr/bin", KUBECONFIG: undefined })).toEqual({ ok: true, value });
  });

  test.each([
    ["LIFEBOAT_URL", undefined, "expected the address of Lifeboat's Worker"],
    ["LIFEBOAT_URL", "http://lifeboat.example.com", "expected an https:// URL, or http:// to loopback"],
    ["LIFEBOAT_URL", "https://me:pw@lifeboat.example.com", "expected an https:// URL, or http:// to loopback"],
    ["LIFEBOAT_RELAY_SECRET", "whsec_REPLACE-ME", "expected whsec_ and the base64 of 24 to 64 bytes"],
    ["KUBECONFIG", "", "expected the path of one kubeconfig"],
    ["KUBERNETES_SERVICE_HOST", undefined, "expected the path of one kubeconfig: the relay does not run in a pod"],
    ["PORT", "70000", "expected a port"],
  ])("%s = %j is refused", (field, value, message) => {
    const parsed = parseRelayEnvironment({ ...VALID, [field]: value });
    const named = field === "KUBERNETES_SERVICE_HOST" ? "KUBECONFIG" : field;
    expect(parsed).toEqual({ ok: false, problems: [{ field: named, message }] });
  });
});
