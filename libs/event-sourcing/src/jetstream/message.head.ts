import type { MsgHdrs } from '@nats-io/transport-node';

/** The server's headers of a stored message, or its status instead of one. */
export interface MessageHead {
  /** 0: a message. */
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

/** The client's form of a message before its headers are parsed. */
interface Undecoded {
  readonly _msg: { readonly hdr: number };
  readonly _rdata: Uint8Array;
}

const isUndecoded = (message: object): message is Undecoded => {
  const { _msg, _rdata } = message as Partial<Undecoded>;
  return typeof _msg?.hdr === 'number' && _msg.hdr > 0 && _rdata instanceof Uint8Array;
};

/**
 * The client parses every header of a message into a map, and checks each letter of each name: for a reader of the log,
 * which needs two of eight, that would be the largest part of a message's cost. So they are taken from the raw text, or
 * from the map if the client's internal form changes.
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
