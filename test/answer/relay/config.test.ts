/** The relay's environment: what is taken, and that whatever is wrong is named without its value. */
import { describe, expect, test } from "vitest";
import { parseEnvironment } from "../../../infra/relay/config.ts";
import { SECRET } from "./fake-worker.ts";

const VALID = {
  LIFEBOAT_URL: "https://lifeboat.example.com",
  LIFEBOAT_CLUSTER: "prod",
  LIFEBOAT_RELAY_SECRET: SECRET,
  KUBERNETES_SERVICE_HOST: "10.96.0.1",
};

describe("the environment", () => {
  test("of a pod", () => {
    const value = {
      endpoint: new URL("https://lifeboat.example.com/clusters/prod/events"),
      secret: SECRET,
      port: 8080,
    };
    expect(parseEnvironment({ ...VALID, PATH: "/usr/bin", KUBECONFIG: undefined })).toEqual({ ok: true, value });
  });

  test("of a laptop", () => {
    const laptop = { LIFEBOAT_URL: "http://127.0.0.1:8787/", KUBECONFIG: "/home/me/.kube/config", PORT: "0" };
    const endpoint = new URL("http://127.0.0.1:8787/clusters/prod/events");
    const value = { endpoint, secret: SECRET, kubeconfig: "/home/me/.kube/config", port: 0 };
    expect(parseEnvironment({ ...VALID, ...laptop })).toEqual({ ok: true, value });
  });

  test.each([
    ["LIFEBOAT_URL", undefined, "expected the address of Lifeboat's Worker"],
    ["LIFEBOAT_URL", "http://lifeboat.example.com", "expected an https:// URL, or http:// to loopback"],
    ["LIFEBOAT_URL", "https://lifeboat.example.com/?x=1", "expected an https:// URL, or http:// to loopback"],
    ["LIFEBOAT_URL", "https://me:pw@lifeboat.example.com", "expected an https:// URL, or http:// to loopback"],
    ["LIFEBOAT_CLUSTER", undefined, "expected this cluster's name in the Worker's CLUSTERS"],
    ["LIFEBOAT_RELAY_SECRET", undefined, "expected whsec_ and the base64 of 24 to 64 bytes"],
    ["LIFEBOAT_RELAY_SECRET", "whsec_REPLACE-ME", "expected whsec_ and the base64 of 24 to 64 bytes"],
    ["KUBECONFIG", "", "expected the path of one kubeconfig"],
    ["KUBERNETES_SERVICE_HOST", undefined, "expected the path of one kubeconfig: this is no pod"],
    ["PORT", "70000", "expected a port"],
  ])("%s = %j is refused", (field, value, message) => {
    const parsed = parseEnvironment({ ...VALID, [field]: value });
    const named = field === "KUBERNETES_SERVICE_HOST" ? "KUBECONFIG" : field;
    expect(parsed).toEqual({ ok: false, problems: [{ field: named, message }] });
  });

  test("tells everything that is wrong at once, and no value", () => {
    const parsed = parseEnvironment({ LIFEBOAT_URL: "ftp://x", LIFEBOAT_RELAY_SECRET: "my-own-secret" });
    const fields = parsed.ok ? [] : parsed.problems.map(({ field }) => field);
    expect(fields).toEqual(["LIFEBOAT_URL", "LIFEBOAT_CLUSTER", "LIFEBOAT_RELAY_SECRET"]);
    expect(JSON.stringify(parsed)).not.toContain("my-own-secret");
  });
});
