"""Small invented files in the form in which others publish theirs, by format."""

import json

JSONL = """\
{"id": "d1", "text": "Old Orlan beat Vessa.", "mentions": [\
{"start": 15, "end": 20, "entity": "Q2", "text": "Vessa"}, \
{"start": 4, "end": 9, "entity": null, "score": 0.5}, {"start": 0, "end": 3}], "source": "x"}

{"text": "😀 Anna", "split": "dev", "mentions": [{"start": 2, "end": 6, "entity": 13, \
"title": "Anna Meck", "type": "PER", "candidates": ["13", 14]}]}
"""

ZELDA = """\
{"id": "1163testb", "text": "Old Orlan beat Vessa.", "index": [[0, 9], [15, 20]], \
"wikipedia_ids": [12, 11], "wikipedia_titles": ["Orlan Rovers", "Vessa F.C."]}
{"id": 3, "text": "😀 Anna", "index": [], "wikipedia_ids": [], "wikipedia_titles": []}
"""

# White space at the ends of contexts is gone, and an empty token made two blanks at the end of the
# first sentence: it is one where the mention stands beside it.
BLINK = "\n".join(
    json.dumps(fields)
    for fields in (
        {"context_left": "", "mention": "Orlan", "context_right": "won .  Vessa lost .",
         "query_id": "947testa CRICKET:0", "label_id": 5, "Wikipedia_ID": 14,
         "Wikipedia_URL": "http://en.wikipedia.org/wiki/Orlan", "Wikipedia_title": "Orlan"},
        {"context_left": "Orlan won .", "mention": "Vessa", "context_right": "lost .",
         "query_id": "947testa CRICKET:1", "label_id": 6, "Wikipedia_ID": "11",
         "Wikipedia_title": "Vessa F.C."},
        {"context_left": "in", "mention": "quill", "context_right": "today",
         "label": "a town", "label_id": 3, "label_title": "Quill", "world": "lego"},
        {"context_left": "in", "mention": "nowhere", "context_right": "", "label": "unknown",
         "label_id": -1},
    )
)  # fmt: skip

KILT = "\n".join(
    json.dumps(fields)
    for fields in (
        {"id": "0b3ccb1a-3c3b-4bd4-a2e6-1d8d9f7e4c55_947testa CRICKET:0",
         "input": " [START_ENT] Orlan [END_ENT] won .",
         "output": [{"answer": "Orlan", "provenance": [{"wikipedia_id": "14", "title": "Orlan"}]}],
         "meta": {"left_context": "", "mention": "Orlan", "right_context": "won .  Vessa lost ."}},
        {"id": "c1f3e6a2-1d2c-4f0a-8f5e-0a9b8c7d6e5f_947testa CRICKET:1",
         "input": "Orlan won . [START_ENT] Vessa [END_ENT] lost .",
         "output": [{"answer": "nothing"}, {"answer": "Vessa F.C.",
                    "provenance": [{"wikipedia_id": "11", "title": "Vessa F.C."}]}],
         "meta": {"left_context": "Orlan won .", "mention": "Vessa", "right_context": "lost ."}},
        {"id": "t1", "input": "In [START_ENT] Quill [END_ENT] it rains."},
    )
)  # fmt: skip

ELEVANT = """\
{"id": 0, "title": "A game", "text": "Old Orlan beat Vessa.", "evaluation_span": [0, 21], \
"labels": [{"id": 1, "span": [15, 20], "entity_id": "Q2", "name": "Vessa", "parent": null, \
"children": [], "optional": false, "type": "Q43229|Q431289"}, \
{"id": 0, "span": [0, 9], "entity_id": "Unknown", "name": "UnknownNoMapping", "parent": null, \
"children": [2], "optional": false, "type": "OTHER"}, \
{"id": 2, "span": [4, 9], "entity_id": "Q7", "name": "Orlan", "parent": 0, "children": [], \
"optional": true, "type": "Q27096213"}]}
"""

NIF = """\
@prefix nif: <http://persistence.uni-leipzig.org/nlp2rdf/ontologies/nif-core#> .
@prefix its: <http://www.w3.org/2005/11/its/rdf#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix dbr: <http://dbpedia.org/resource/> .

<http://example.org/z#char=0,22> a nif:RFC5147String , nif:String , nif:Context ;
    nif:beginIndex "0"^^xsd:nonNegativeInteger ;
    nif:endIndex "22"^^xsd:nonNegativeInteger ;
    nif:isString \"\"\"Old "Orlan" beat Vessa\"\"\"@en .

<http://example.org/z#char=17,22> a nif:RFC5147String , nif:String ;
    nif:anchorOf "Vessa"^^xsd:string ;
    nif:beginIndex "17"^^xsd:nonNegativeInteger ;
    nif:endIndex "22"^^xsd:nonNegativeInteger ;
    nif:referenceContext <http://example.org/z#char=0,22> ;
    its:taIdentRef dbr:Vessa_FC , <http://www.wikidata.org/entity/Q2> .

<http://example.org/z#char=5,10> a nif:Phrase ;
    nif:beginIndex 5 ; nif:endIndex 10 ;
    nif:referenceContext <http://example.org/z#char=0,22> ;
    its:taClassRef <http://example.org/Town> ;
    its:taIdentRef <http://aksw.org/notInWiki/Orlan> .

<http://example.org/z#char=0,3> a nif:Word ;
    nif:beginIndex 0 ; nif:endIndex 3 ; nif:referenceContext <http://example.org/z#char=0,22> .

<http://example.org/a#char=0,6> a nif:Context ; nif:isString "😀 Anna" .
<http://example.org/a#char=2,6> a nif:Phrase ; nif:anchorOf "Anna" ;
    nif:beginIndex 2 ; nif:endIndex 6 ; nif:referenceContext <http://example.org/a#char=0,6> .
"""

AIDA = """\
-DOCSTART- (1 Vessa)
Vessa\tB\tVessa Town\tVessa_F\\u002eC\\u002e\thttp://en.wikipedia.org/wiki/Vessa_F.C.\t11\t/m/a
Town\tI\tVessa Town\tVessa_F\\u002eC\\u002e\thttp://en.wikipedia.org/wiki/Vessa_F.C.\t11\t/m/a
Old\tB\tOld\t--NME--
sleeps
.

Anna\tB\tAnna Meck\tAnna_Meck\thttp://en.wikipedia.org/wiki/Anna_Meck\t13

Meck\tI\tAnna Meck\tAnna_Meck\thttp://en.wikipedia.org/wiki/Anna_Meck\t13

-DOCSTART- (947testa Rain)
Rain

-DOCSTART- (clueweb12-0500)
Orlan\tB\tOrlan\tOrlan\thttp://en.wikipedia.org/wiki/Orlan\t000
"""

FILES = {
    "jsonl": JSONL, "zelda": ZELDA, "blink": BLINK, "kilt": KILT, "elevant": ELEVANT, "nif": NIF,
    "aida": AIDA,
}  # fmt: skip
