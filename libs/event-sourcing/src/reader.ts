/** Entry for programs that only read the log: it loads without Nest. */
export { WakeSignal } from './jetstream/wake.signal.js';
export { readBatch, READ_BATCH, type RawEvent } from './jetstream/direct.reader.js';
export { decode } from './jetstream/envelope.codec.js';
