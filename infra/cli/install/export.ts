/** Manifests as YAML on stdout, for GitOps: the same input prints the same text. */
import { dump } from "js-yaml";
import type { Host } from "../host.ts";
import type { Manifest } from "./manifests.ts";

export function printManifests(manifests: readonly Manifest[], { stdout }: Host): void {
  const texts = manifests.map((manifest) => dump(manifest, { noRefs: true, lineWidth: -1 }));
  stdout.write(texts.join("---\n"));
}
