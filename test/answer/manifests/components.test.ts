/** The optional parts as components: each by itself, and all together in the kustomization that the README shows. */
import { globSync, readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { build, buildText, type KubeObject } from "../../support/manifests/kustomize.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const optional = `${root}infra/kubernetes/optional`;
const names = readdirSync(optional);

const named = (objects: readonly KubeObject[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

test.each(names)("optional/%s is a component with all files of its folder", (name) => {
  const files = readdirSync(`${optional}/${name}`).toSorted();
  expect(files).toEqual(["kustomization.yaml", `${name}.yaml`].toSorted());
  expect(build(`${optional}/${name}`, "Component")).not.toEqual([]);
});

const VALUES = "host=lifeboat.my-zone.example, cluster=prod, webhookToken=a-long-random-token";
const PLACEHOLDERS = /lifeboat\.example\.com|"CLUSTER"|\/CLUSTER\/|WEBHOOK_TOKEN/;
const unfilled = (objects: readonly KubeObject[]) => objects.filter((one) => PLACEHOLDERS.test(JSON.stringify(one)));

describe("the README's kustomization", () => {
  const readme = readFileSync(`${root}infra/kubernetes/README.md`, "utf8");
  const [, shown = ""] = /^```yaml\n(# site\/kustomization\.yaml\n.*?)^```/ms.exec(readme) ?? [];
  /** As a folder in the clone instead of beside it; the values are given here instead of in a file. */
  const text = shown.replaceAll("../lifeboat/", "../").replace("envs: [site.env]", `literals: [${VALUES}]`);
  const objects = buildText(text, `${root}site`);

  test("has your values wherever the Worker is named", () => {
    const urls = JSON.stringify(objects.filter(({ kind }) => kind === "ValidatingWebhookConfiguration"));
    expect(urls).toContain("https://lifeboat.my-zone.example/clusters/prod/admission/evictions/a-long-random-token");
    expect(named(unfilled(objects))).toEqual([]);
  });

  test("sends your values nowhere else", () => expect(named(objects)).not.toContain("ConfigMap lifeboat-site"));

  test("takes the relay and every component, and no two of them have the same object", () => {
    const parts = names.map((name) => `infra/kubernetes/optional/${name}`);
    const observed = globSync("infra/observability/{,*/}kustomization.yaml", { cwd: root }).map((path) =>
      dirname(path),
    );
    const lines = [...parts, ...observed, "infra/kubernetes/worker"].map((path) => `  - ../${path}\n`);
    const whole = text
      .replace("resources:\n", "resources:\n  - ../infra/relay/kubernetes\n")
      .replace(/^components:\n(?: .*\n)+/m, `components:\n${lines.join("")}`);
    const all = buildText(whole, `${root}site`);
    expect(named(all).toSorted()).toEqual([...new Set(named(all))].toSorted());
    expect(named(unfilled(all))).toEqual([]);
    expect(named(all)).toEqual(expect.arrayContaining(["ScrapeConfig lifeboat", "Deployment lifeboat-relay"]));
  });
});
