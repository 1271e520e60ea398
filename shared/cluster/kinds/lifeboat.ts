export * from "../../kube/schemas/lifeboat.ts";
