import { useId, useState, type ReactNode } from 'react';
import { counted } from '../format.js';
import { Button } from '../ui/ui.js';
import { partsOf, valueAt, type Path } from './manifest.text.js';
import { enteredLines, enteredPairs, enteredText, newEntry, type Field, type Shape } from './schema.js';

/** What the form knows beside the schema. */
export interface FormContext {
  readonly document: unknown;
  readonly onChange: (path: Path, value: unknown) => void;
  /** Values to choose from, for a field. */
  readonly offersOf: (path: Path) => readonly string[];
  /** Fields that are wrong, with what is wrong. */
  readonly faults: readonly { readonly field: string; readonly message: string }[];
}

const fieldOf = (path: Path): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .slice(1);

const isBelow = (field: string, path: Path): boolean => {
  const [parts, above] = [partsOf(field), path];
  return above.every((part, index) => parts[index] === part);
};

/** Fields that most people look for first, beside those that must be given. */
const FIRST: ReadonlySet<string> = new Set(['spec.version', 'spec.serviceType', 'spec.pools']);

/** A form for a document, from its schema. What is not entered stays out of the document. What few need is folded away. */
export const SchemaForm = ({
  fields,
  at,
  context,
}: {
  readonly fields: readonly Field[];
  readonly at: Path;
  readonly context: FormContext;
}) => {
  // As it was at first: a field does not move while it is filled in.
  const [first] = useState(() =>
    fields.filter(
      ({ name, isRequired }) =>
        isRequired || FIRST.has(fieldOf([...at, name])) || valueAt(context.document, [...at, name]) !== undefined,
    ),
  );
  const [isOpen, setOpen] = useState(false);
  const others = fields.filter((field) => !first.includes(field));
  const fieldset = (shown: readonly Field[]) =>
    shown.map((field) => <One key={field.name} field={field} path={[...at, field.name]} context={context} />);
  return (
    <div className="form">
      {fieldset(first)}
      {others.length === 0 ? null : (
        <details className="form-group" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary className="dim">{counted(others.length, first.length === 0 ? 'field' : 'further field')}</summary>
          {isOpen ? <div className="form">{fieldset(others)}</div> : null}
        </details>
      )}
    </div>
  );
};

const One = ({
  field,
  path,
  context,
}: {
  readonly field: Field;
  readonly path: Path;
  readonly context: FormContext;
}) => {
  const { shape } = field;
  if (shape.kind === 'object') return <Group field={field} fields={shape.fields} path={path} context={context} />;
  if (shape.kind === 'list') return <List field={field} item={shape.item} path={path} context={context} />;
  if (shape.kind === 'other')
    return (
      <p className="form-field dim">
        <code>{field.name}</code> is written in the YAML. {field.help}
      </p>
    );
  return <Scalar field={field} shape={shape} path={path} context={context} />;
};

const Group = ({
  field,
  fields,
  path,
  context,
}: {
  readonly field: Field;
  readonly fields: readonly Field[];
  readonly path: Path;
  readonly context: FormContext;
}) => {
  const isSet = valueAt(context.document, path) !== undefined;
  const [isOpen, setOpen] = useState(field.isRequired || isSet);
  const isWrong = context.faults.some(({ field: wrong }) => isBelow(wrong, path));
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)} className="form-group">
      <summary>
        <code>{field.name}</code> {isSet ? null : <span className="dim">as by default</span>}
        {isWrong ? <span className="tone-error"> has a fault</span> : null}
      </summary>
      {field.help === '' ? null : <p className="hint">{field.help}</p>}
      {isOpen ? <SchemaForm fields={fields} at={path} context={context} /> : null}
    </details>
  );
};

const titleOf = (value: unknown, index: number): string => {
  const name = valueAt(value, ['name']);
  return typeof name === 'string' && name !== '' ? name : String(index + 1);
};

const List = ({
  field,
  item,
  path,
  context,
}: {
  readonly field: Field;
  readonly item: Shape;
  readonly path: Path;
  readonly context: FormContext;
}) => {
  const value = valueAt(context.document, path);
  const items: readonly unknown[] = Array.isArray(value) ? value : [];
  return (
    <fieldset className="form-list">
      <legend>
        <code>{field.name}</code>
      </legend>
      {field.help === '' ? null : <p className="hint">{field.help}</p>}
      {items.map((entry, index) => (
        <div key={index} className="form-entry">
          <div className="form-entry-head">
            <strong>{titleOf(entry, index)}</strong>
            <Button
              look="quiet"
              aria-label={`Remove ${titleOf(entry, index)} from ${field.name}`}
              onClick={() => context.onChange([...path, index], undefined)}
            >
              Remove
            </Button>
          </div>
          {item.kind === 'object' ? <SchemaForm fields={item.fields} at={[...path, index]} context={context} /> : null}
        </div>
      ))}
      <Button
        icon="plus"
        aria-label={`Add to ${field.name}`}
        onClick={() => context.onChange([...path, items.length], newEntry(item))}
      >
        Add
      </Button>
    </fieldset>
  );
};

type ScalarShape = Exclude<Shape, { readonly kind: 'object' | 'list' | 'other' }>;

const textOf = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(String).join('\n');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, text]) => `${name}=${String(text)}`)
      .join('\n');
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
};

const standardText = (standard: unknown): string => {
  const text = textOf(standard);
  return text === '' ? '' : `default: ${text.replaceAll('\n', ', ')}`;
};

const Scalar = ({
  field,
  shape,
  path,
  context,
}: {
  readonly field: Field;
  readonly shape: ScalarShape;
  readonly path: Path;
  readonly context: FormContext;
}) => {
  const id = useId();
  const name = fieldOf(path);
  const fault = context.faults.find((one) => partsOf(one.field).join('.') === partsOf(name).join('.'));
  const hints = [field.help === '' ? undefined : `${id}-help`, fault === undefined ? undefined : `${id}-fault`];
  const common: Common = {
    id,
    name,
    'aria-describedby': hints.filter((one) => one !== undefined).join(' ') || undefined,
    'aria-invalid': fault === undefined ? undefined : true,
  };
  const value = valueAt(context.document, path);
  return (
    <div className="form-field">
      <label htmlFor={id}>
        <code>{field.name}</code>
        {field.isRequired ? <span className="dim"> required</span> : null}
      </label>
      <Input
        shape={shape}
        common={common}
        value={value}
        standard={field.standard}
        offers={context.offersOf(path)}
        onChange={(next) => context.onChange(path, next)}
      />
      {field.help === '' ? null : (
        <p className="hint" id={`${id}-help`}>
          {field.help}
        </p>
      )}
      {fault === undefined ? null : (
        <p className="tone-error" id={`${id}-fault`}>
          {fault.message}
        </p>
      )}
    </div>
  );
};

interface Common {
  readonly id: string;
  readonly name: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

interface InputProps {
  readonly shape: ScalarShape;
  readonly common: Common;
  readonly value: unknown;
  readonly standard: unknown;
  readonly offers: readonly string[];
  readonly onChange: (value: unknown) => void;
}

const Input = (props: InputProps): ReactNode => {
  const { shape, common, value, standard, onChange } = props;
  if (shape.kind === 'flag')
    return (
      <input
        type="checkbox"
        {...common}
        checked={(value ?? standard ?? false) === true}
        onChange={({ target: { checked } }) => onChange(checked === (standard ?? false) ? undefined : checked)}
      />
    );
  if (shape.kind === 'choice') return <Choice {...props} options={shape.options} />;
  if (shape.kind === 'lines' || shape.kind === 'pairs') return <Lines {...props} shape={shape} />;
  const isNumber = shape.kind === 'number';
  const mayBeNumber = isNumber || shape.mayBeNumber;
  return (
    <>
      <input
        {...(isNumber ? { type: 'number', min: shape.min, max: shape.max } : { type: 'text' })}
        {...common}
        value={textOf(value)}
        placeholder={standardText(standard)}
        autoComplete="off"
        {...(props.offers.length === 0 ? {} : { list: `${common.id}-offers` })}
        onChange={({ target }) => onChange(enteredText(target.value, mayBeNumber))}
      />
      {props.offers.length === 0 ? null : (
        <datalist id={`${common.id}-offers`}>
          {props.offers.map((offer) => (
            <option key={offer} value={offer} />
          ))}
        </datalist>
      )}
    </>
  );
};

const Choice = ({
  common,
  value,
  standard,
  onChange,
  options,
}: InputProps & { readonly options: readonly (string | number)[] }) => (
  <select
    {...common}
    value={textOf(value)}
    onChange={({ target }) => onChange(options.find((option) => String(option) === target.value))}
  >
    <option value="">{standardText(standard) === '' ? 'not given' : standardText(standard)}</option>
    {options.map((option) => (
      <option key={option} value={String(option)}>
        {option}
      </option>
    ))}
  </select>
);

const placeholderOf = (shape: Extract<ScalarShape, { readonly kind: 'lines' | 'pairs' }>): string => {
  if (shape.kind === 'pairs') return 'name=value, one in each line';
  return shape.word === undefined ? 'one in each line' : `one in each line, or ${shape.word}`;
};

/** It is read when it is left: a line that is being written is not one yet. */
const Lines = ({
  shape,
  common,
  value,
  onChange,
}: InputProps & { readonly shape: Extract<ScalarShape, { readonly kind: 'lines' | 'pairs' }> }) => {
  const [draft, setDraft] = useState<string | undefined>(undefined);
  const text = draft ?? textOf(value);
  return (
    <textarea
      {...common}
      rows={Math.max(1, text.split('\n').length)}
      value={text}
      placeholder={placeholderOf(shape)}
      onChange={({ target }) => setDraft(target.value)}
      onBlur={() => {
        if (draft === undefined) return;
        onChange(shape.kind === 'pairs' ? enteredPairs(draft) : enteredLines(draft, shape.mayBeNumber, shape.word));
        setDraft(undefined);
      }}
    />
  );
};
