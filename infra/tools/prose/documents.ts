/** A plugin of remark, which checks that documents are plain English. */
import { problemsOf, type Prose } from "./plain-english.ts";

interface Node {
  readonly type: string;
  readonly value?: string;
  readonly children?: readonly Node[];
}

interface File {
  message(reason: string, node: Node): void;
}

const MOST_WORDS = 25;

/** Checks each paragraph and each table cell. Ignores headings and code. */
export default function plainDocuments() {
  return (tree: Node, file: File): void => {
    for (const node of paragraphsOf(tree)) {
      const problems = proseOf(textOf(node)).flatMap(problemsOf);
      for (const { sentence, message } of problems) file.message(`"${sentence.slice(0, 60)}" ${message}`, node);
    }
  };
}

/** Returns the sentences of a paragraph, or the cells of a table. CommonMark parses a table as a paragraph. */
function proseOf(text: string): readonly Prose[] {
  return text.startsWith("|") ? text.split("|").map((cell) => ({ text: cell })) : [{ text, mostWords: MOST_WORDS }];
}

function paragraphsOf(node: Node): readonly Node[] {
  return node.type === "paragraph" ? [node] : (node.children ?? []).flatMap(paragraphsOf);
}

function textOf(node: Node): string {
  if (node.type === "inlineCode") return "Code";
  return node.value ?? (node.children ?? []).map(textOf).join("");
}
