import type { MsgHdrs } from '@nats-io/transport-node';

/** What the server says of a stored message, or instead of one. */
export interface MessageHead {
  /** 0: it is a message. */
  readonly code: number;
  readonly description: string;
  readonly subject: string;
  readonly seq: number;
}

const SUBJECT = 'Nats-Subject';
const SEQUENCE = 'Nats-Sequence';
const LINE_END = '\r\n';
const STATUS = /^NATS\/1\.0 +(\d+) *(.*)/;

/** The server appends its own headers to those of the sender, so the last one of a name is the server's. */
const lastOf = (text: string, name: string): string => {
  const at = text.lastIndexOf(`${LINE_END}${name}:`);
  if (at < 0) return '';
  const from = at + LINE_END.length + name.length + 1;
  return text.slice(from, text.indexOf(LINE_END, from)).trim();
};

/** How the client keeps a message until its headers are asked for. */
interface Undecoded {
  readonly _msg: { readonly hdr: number };
  readonly _rdata: Uint8Array;
}

const isUndecoded = (message: object): message is Undecoded => {
  const { _msg, _rdata } = message as Partial<Undecoded>;
  return typeof _msg?.hdr === 'number' && _msg.hdr > 0 && _rdata instanceof Uint8Array;
};

/**
 * The client reads every header of a message into a map, and looks at each letter of each name: for a reader of the log, who needs two of
 * eight, that would be the largest part of what a message costs. So they are taken from its text; from the map, where the client does not
 * keep the text as it does now.
 */
export const headOf = (message: { readonly headers?: MsgHdrs | undefined }): MessageHead => {
  if (!isUndecoded(message)) {
    const { headers } = message;
    return {
      code: headers?.code ?? 0,
      description: headers?.description ?? '',
      subject: headers?.last(SUBJECT) ?? '',
      seq: Number(headers?.last(SEQUENCE) ?? 0),
    };
  }
  const { buffer, byteOffset } = message._rdata;
  const text = Buffer.from(buffer, byteOffset, message._msg.hdr).toString('latin1');
  const [, code = '0', description = ''] = STATUS.exec(text) ?? [];
  return { code: Number(code), description, subject: lastOf(text, SUBJECT), seq: Number(lastOf(text, SEQUENCE)) };
};
