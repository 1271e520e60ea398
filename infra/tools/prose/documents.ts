/** A plugin of remark: documents are plain English. */
import { problemsOf, type Prose } from "./plain-english.ts";

interface Node {
  readonly type: string;
  readonly value?: string;
  readonly children?: readonly Node[];
}

interface File {
  message(reason: string, node: Node): void;
}

/** The most words of a sentence in a document. */
const MOST_WORDS = 25;

/** Checks every paragraph, and every cell of a table. Headings and code are left out. */
export default function plainDocuments() {
  return (tree: Node, file: File): void => {
    for (const node of paragraphsOf(tree)) {
      const problems = proseOf(textOf(node)).flatMap(problemsOf);
      for (const { sentence, message } of problems) file.message(`"${sentence.slice(0, 60)}" ${message}`, node);
    }
  };
}

/** CommonMark has no tables and parses a table as a paragraph. A cell may be long. */
function proseOf(text: string): readonly Prose[] {
  return text.startsWith("|") ? text.split("|").map((cell) => ({ text: cell })) : [{ text, mostWords: MOST_WORDS }];
}

function paragraphsOf(node: Node): readonly Node[] {
  return node.type === "paragraph" ? [node] : (node.children ?? []).flatMap(paragraphsOf);
}

/** Returns the text of a node. Inline code counts as one word. */
function textOf(node: Node): string {
  if (node.type === "inlineCode") return "Code";
  return node.value ?? (node.children ?? []).map(textOf).join("");
}
