/** Minimal document tree for responses, over the parser that verifies them. */

import { parseDomFromString } from '@node-saml/node-saml/lib/xml.js';
import { isRecord } from '../../apimachinery/index.ts';
import { demand, Refusal } from './refusal.ts';

interface XmlAttribute {
  readonly name: string;
  readonly localName: string | null;
  readonly namespaceURI: string | null;
  readonly value: string;
}

export interface XmlElement {
  readonly nodeType: number;
  readonly localName: string;
  readonly namespaceURI: string | null;
  readonly parentNode: XmlElement | null;
  readonly nextSibling: XmlNode | null;
  readonly firstChild: XmlNode | null;
  readonly attributes: { readonly length: number; item(index: number): XmlAttribute };
  readonly textContent: string;
  hasAttribute(name: string): boolean;
  getAttribute(name: string): string;
}

interface XmlNode {
  readonly nodeType: number;
  readonly nextSibling: XmlNode | null;
}

const ELEMENT = 1;
const TEXT = 3;

/** Root element. Throws Refusal. */
export async function parseXml(text: string): Promise<XmlElement> {
  let document: unknown;
  try {
    document = await parseDomFromString(text);
  } catch (cause) {
    throw new Refusal('it is no XML', { reason: 'no-xml', cause });
  }
  const root = isRecord(document) ? document['documentElement'] : undefined;
  demand(isElement(root), 'no-xml', 'it is no XML');
  return root;
}

function isElement(node: unknown): node is XmlElement {
  return isRecord(node) && node['nodeType'] === ELEMENT;
}

export function childElements(of: XmlElement): XmlElement[] {
  const found: XmlElement[] = [];
  for (let node = of.firstChild; node !== null; node = node.nextSibling) {
    if (isElement(node)) found.push(node);
  }
  return found;
}

export function attributesOf(element: XmlElement): XmlAttribute[] {
  return Array.from({ length: element.attributes.length }, (_, at) => element.attributes.item(at));
}

export function isNamed(element: XmlElement, namespace: string, name: string): boolean {
  return element.localName === name && element.namespaceURI === namespace;
}

export function childrenNamed(of: XmlElement, namespace: string, name: string): XmlElement[] {
  return childElements(of).filter((child) => isNamed(child, namespace, name));
}

/** Undefined: the attribute is absent. */
export function attribute(element: XmlElement, name: string): string | undefined {
  return element.hasAttribute(name) ? element.getAttribute(name) : undefined;
}

/** Throws Refusal for an element with anything but text. */
export function textOf(element: XmlElement): string {
  for (let node = element.firstChild; node !== null; node = node.nextSibling) {
    demand(node.nodeType === TEXT, 'mixed-text', `a ${element.localName} holds more than text`);
  }
  return element.textContent;
}
