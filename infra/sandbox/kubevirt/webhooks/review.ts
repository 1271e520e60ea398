/** virt-api's answers to AdmissionReviews. */
import type { KubeObject } from "../../actors/resources.ts";
import { KUBEVIRT_NAMESPACE } from "../resources.ts";

export interface AdmissionRequest<T extends KubeObject = KubeObject> {
  readonly uid: string;
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly namespace?: string;
  readonly name?: string;
  readonly userInfo: { readonly username: string };
  readonly object: T;
  readonly oldObject: T | null;
  readonly dryRun?: boolean;
}

export interface AdmissionResponse {
  readonly allowed: boolean;
  readonly status?: {
    readonly code: number;
    readonly reason?: string;
    readonly message: string;
    readonly details?: { readonly causes: readonly Cause[] };
  };
  readonly patchType?: "JSONPatch";
  readonly patch?: string;
}

export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

export type Admit<T extends KubeObject = KubeObject> = (
  request: AdmissionRequest<T>,
) => AdmissionResponse | Promise<AdmissionResponse>;

export const ALLOWED: AdmissionResponse = { allowed: true };

export function invalid(cause: Cause): AdmissionResponse {
  const { message } = cause;
  return { allowed: false, status: { code: 422, reason: "Invalid", message, details: { causes: [cause] } } };
}

export function refused(message: string): AdmissionResponse {
  return { allowed: false, status: { code: 400, message } };
}

export function patched(operations: readonly object[]): AdmissionResponse {
  if (operations.length === 0) return ALLOWED;
  const patch = Buffer.from(JSON.stringify(operations)).toString("base64");
  return { allowed: true, patchType: "JSONPatch", patch };
}

/** virt-controller's account. Only this account may set a migration's priority. */
export const VIRT_CONTROLLER = `system:serviceaccount:${KUBEVIRT_NAMESPACE}:kubevirt-controller`;

const OWN_ACCOUNTS: readonly string[] = [
  VIRT_CONTROLLER,
  `system:serviceaccount:${KUBEVIRT_NAMESPACE}:kubevirt-apiserver`,
  `system:serviceaccount:${KUBEVIRT_NAMESPACE}:kubevirt-handler`,
];

export function isOwnAccount({ userInfo }: AdmissionRequest): boolean {
  return OWN_ACCOUNTS.includes(userInfo.username);
}
