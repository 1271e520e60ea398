/** Configures a test's webhook. It reviews requests in the namespace `default`. */
import { expect } from "vitest";
import type { Hook } from "../contract/hook.ts";
import type { Started } from "./started.ts";

export const NAME = "hook.example.com";
export const REVIEW = "/review";
export const CONFIG_MAPS = { operations: ["CREATE", "UPDATE"], resources: ["configmaps"], apiGroups: [""] };

export async function configure(
  { admin }: Started,
  hook: Hook,
  { kind = "Validating", ...more }: { readonly kind?: "Validating" | "Mutating"; readonly [field: string]: unknown },
): Promise<void> {
  const path = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}webhookconfigurations`;
  const webhook = {
    name: NAME,
    clientConfig: { url: `${hook.url}${REVIEW}`, caBundle: hook.caBundle },
    rules: [{ apiVersions: ["v1"], ...CONFIG_MAPS }],
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    timeoutSeconds: 1,
    ...more,
  };
  await admin.send({ method: "DELETE", path: `${path}/default` });
  const body = { metadata: { name: "default" }, webhooks: [webhook] };
  const { code, text } = await admin.send({ method: "POST", path, body });
  expect(code, text).toBe(201);
}
