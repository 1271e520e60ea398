export * from "../../kube/schemas/fields.ts";
