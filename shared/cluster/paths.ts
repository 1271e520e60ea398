export * from "../kube/resources.ts";
export { isObjectName, ObjectName, ObjectNamespace } from "../kube/schemas/fields.ts";
