import * as Dialog from '@radix-ui/react-dialog';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { Button, Failure } from './ui.js';

export const Modal = ({
  title,
  description,
  open,
  onClose,
  children,
}: {
  readonly title: string;
  readonly description?: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) => (
  <Dialog.Root open={open} onOpenChange={(isOpen) => (isOpen ? undefined : onClose())}>
    <Dialog.Portal>
      <Dialog.Overlay className="overlay" />
      <Dialog.Content className="dialog" {...(description === undefined ? { 'aria-describedby': undefined } : {})}>
        <Dialog.Title className="dialog-title">{title}</Dialog.Title>
        {description === undefined ? null : <Dialog.Description>{description}</Dialog.Description>}
        {children}
      </Dialog.Content>
    </Dialog.Portal>
  </Dialog.Root>
);

/** What a person gives for an act. */
export interface Given {
  readonly reason: string;
  /** One of `options`; empty: there are none. */
  readonly option: string;
}

export interface Act {
  readonly title: string;
  readonly description: string;
  readonly button: string;
  readonly look?: 'primary' | 'danger';
  /** A text that must be typed first; undefined: none. */
  readonly typed?: string;
  readonly needsReason?: boolean;
  /** What has to be chosen; undefined: nothing. */
  readonly options?: { readonly label: string; readonly values: readonly (readonly [value: string, title: string])[] };
  readonly run: (given: Given) => Promise<unknown>;
}

/** Asks before something is done that others notice. */
export const ActDialog = ({ act, onClose }: { readonly act: Act | undefined; readonly onClose: () => void }) => {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const option = chosen ?? act?.options?.values[0]?.[0] ?? '';
  const done = useMutation({
    mutationFn: () => (act === undefined ? Promise.resolve() : act.run({ reason, option })),
    onSuccess: async () => {
      await queries.invalidateQueries();
      close();
    },
  });
  const close = (): void => {
    setReason('');
    setTyped('');
    setChosen(undefined);
    done.reset();
    onClose();
  };
  if (act === undefined) return null;
  const isComplete = (act.needsReason !== true || reason.trim() !== '') && (act.typed ?? '') === typed;
  return (
    <Modal title={act.title} description={act.description} open onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isComplete) done.mutate();
        }}
      >
        {act.options === undefined ? null : (
          <label className="field">
            {act.options.label}
            <select value={option} onChange={(event) => setChosen(event.target.value)}>
              {act.options.values.map(([value, title]) => (
                <option key={value} value={value}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        )}
        {act.needsReason === true ? (
          <label className="field">
            Reason, for the log
            <input value={reason} onChange={(event) => setReason(event.target.value)} maxLength={200} required />
          </label>
        ) : null}
        {act.typed === undefined ? null : (
          <label className="field">
            Type {act.typed} to confirm
            <input value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />
          </label>
        )}
        <Failure error={done.error} />
        <div className="buttons">
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" look={act.look ?? 'primary'} disabled={!isComplete || done.isPending}>
            {done.isPending ? 'Sending …' : act.button}
          </Button>
        </div>
      </form>
    </Modal>
  );
};
