/** virt-api's admission of VirtualMachineInstances. */
import { isDeepStrictEqual } from "node:util";
import { FINALIZER, LABEL, type VirtualMachineInstance } from "../resources.ts";
import { ALLOWED, invalid, isOwnAccount, patched, type Admit } from "./review.ts";

const RESERVED_LABELS = [
  LABEL.createdBy,
  LABEL.migrationJobUID,
  LABEL.nodeName,
  LABEL.migrationTargetNodeName,
  LABEL.schedulable,
  LABEL.installStrategy,
];

/** Restores the status of a VMI if an account outside of KubeVirt has changed it. VMIs have no status subresource. */
export const mutateVmi: Admit<VirtualMachineInstance> = (request) => {
  const { object, oldObject, operation } = request;
  if (operation === "CREATE") {
    const finalizers = [...new Set([...(object.metadata.finalizers ?? []), FINALIZER.vmi])];
    const domain = { devices: {}, ...object.spec?.domain };
    return patched([
      { op: "add", path: "/metadata/finalizers", value: finalizers },
      { op: "add", path: "/spec", value: { ...object.spec, domain } },
      { op: "add", path: "/status", value: { ...object.status, phase: "Pending" } },
    ]);
  }
  if (operation !== "UPDATE" || isOwnAccount(request) || isDeepStrictEqual(object.status, oldObject?.status))
    return ALLOWED;
  return patched([{ op: "add", path: "/status", value: oldObject?.status ?? {} }]);
};

export const admitVmiUpdate: Admit<VirtualMachineInstance> = (request) => {
  const { object, oldObject } = request;
  if (oldObject === null || isOwnAccount(request)) return ALLOWED;
  if (!isDeepStrictEqual(object.spec, oldObject.spec))
    return invalid({ reason: "FieldValueNotSupported", message: "update of VMI object is restricted" });
  const changed = RESERVED_LABELS.some(
    (label) => object.metadata.labels?.[label] !== oldObject.metadata.labels?.[label],
  );
  if (!changed) return ALLOWED;
  return invalid({
    reason: "FieldValueNotSupported",
    message: "modification of the following reserved kubevirt.io/ labels on a VMI object is prohibited",
  });
};
