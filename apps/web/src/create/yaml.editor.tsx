import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { yaml } from '@codemirror/lang-yaml';
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import type { Span } from './manifest.text.js';

/** What is wrong, and where. */
export interface Remark extends Span {
  readonly message: string;
}

const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content ?? '';

const COLOURS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.content], color: 'var(--text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--ok)' },
  { tag: tags.comment, color: 'var(--dim)', fontStyle: 'italic' },
]);

const LOOK = EditorView.theme({
  '&': { backgroundColor: 'transparent', color: 'var(--text)', fontSize: '12px' },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '1px' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'transparent', color: 'var(--dim)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'var(--bg)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft)',
  },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--text)', border: '1px solid var(--line)' },
});

/** The least change that makes one text the other, so that the cursor stays where it is. */
const changeTo = (before: string, after: string): { from: number; to: number; insert: string } => {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from += 1;
  let [to, end] = [before.length, after.length];
  while (to > from && end > from && before[to - 1] === after[end - 1]) [to, end] = [to - 1, end - 1];
  return { from, to, insert: after.slice(from, end) };
};

/** Lines that arrive at once (dictated, or by an extension) are put in here: the browser would style them inline. */
const LINES = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== 'insertText' || event.data?.includes('\n') !== true) return false;
    const selected = document.getSelection();
    if (selected === null || selected.rangeCount === 0) return false;
    const range = selected.getRangeAt(0);
    // What is selected in the document: the editor hears of it later.
    const from = view.posAtDOM(range.startContainer, range.startOffset);
    const to = view.posAtDOM(range.endContainer, range.endOffset);
    const insert = view.state.toText(event.data);
    const selection = { anchor: from + insert.length };
    view.dispatch({ changes: { from, to, insert }, selection, userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

/** YAML with colours, line numbers, and remarks where the text is wrong. Tab leaves it: it is no trap for keyboards. */
const YamlEditor = ({
  text,
  remarks,
  onChange,
}: {
  readonly text: string;
  readonly remarks: readonly Remark[];
  readonly onChange: (text: string) => void;
}) => {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  const changed = useRef(onChange);
  changed.current = onChange;
  const first = useRef(text);
  useEffect(() => {
    if (host.current === null) return undefined;
    const made = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          EditorView.cspNonce.of(nonce),
          ...[lineNumbers(), lintGutter(), history(), drawSelection(), highlightActiveLine()],
          ...[yaml(), syntaxHighlighting(COLOURS), LOOK, LINES, EditorView.lineWrapping],
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.contentAttributes.of({ 'aria-label': 'Manifest' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => {
      made.destroy();
      view.current = undefined;
    };
  }, []);
  useEffect(() => {
    first.current = text;
    const now = view.current?.state.doc.toString();
    if (now !== undefined && now !== text) view.current?.dispatch({ changes: changeTo(now, text) });
  }, [text]);
  useEffect(() => {
    const length = view.current?.state.doc.length ?? 0;
    const shown = remarks.filter(({ to }) => to <= length);
    view.current?.dispatch(
      setDiagnostics(
        view.current.state,
        shown.map(({ from, to, message }) => ({ from, to, message, severity: 'error' })),
      ),
    );
  }, [remarks]);
  return <div className="editor" ref={host} />;
};
export default YamlEditor;
