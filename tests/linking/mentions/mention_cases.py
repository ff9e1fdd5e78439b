"""Short texts with the mentions that detection and linking should find, one case each.

A mention is written [[entity|words of the text]]; the entity NIL is none of the knowledge base. The
knowledge base was written for these texts, partly about invented people and firms.
"""

from typing import Any, NamedTuple

from experiments.starter_data import marked_document


def _entity(
    name: str, type_: str, popularity: int, aliases: str, description: str, links: str = ""
) -> dict[str, Any]:
    return {
        "id": name,
        "name": name,
        "type": type_,
        "popularity": popularity,
        "aliases": [alias for alias in aliases.split(";") if alias],
        "description": description,
        "links": [link for link in links.split(";") if link],
    }


ENTITIES = (
    # people
    _entity("Angela Merkel", "PER", 90, "Merkel", "chancellor of Germany", "Germany;Berlin"),
    _entity("Barack Obama", "PER", 95, "Obama", "president of the United States", "United States"),
    _entity("Michael Jordan", "PER", 92, "Jordan", "guard of the Chicago Bulls", "Chicago Bulls"),
    _entity("Phil Jackson", "PER", 70, "Jackson", "coach of the Chicago Bulls", "Chicago Bulls"),
    _entity("Michael Jackson", "PER", 93, "Jackson", "singer of pop songs", "Thriller (album)"),
    _entity("Serena Wills", "PER", 60, "Serena;Wills", "tennis player", "Wimbledon"),
    _entity("Dwayne Johnson", "PER", 80, 'Dwayne "The Rock" Johnson', "actor and wrestler"),
    _entity("Martin Luther King Jr.", "PER", 88, "", "minister in the civil rights movement"),
    _entity("Johann Wolfgang von Goethe", "PER", 85, "Goethe", "German writer", "Germany"),
    _entity("Ludwig van Beethoven", "PER", 86, "", "German composer", "Vienna;Germany"),
    _entity("Sor Juana Inés de la Cruz", "PER", 50, "Juana Inés", "poet in Mexico", "Mexico"),
    _entity("Gabriel García Márquez", "PER", 72, "García Márquez", "novelist", "Colombia"),
    _entity("J. R. R. Tolkien", "PER", 80, "Tolkien", "writer of fantasy", "University of Oxford"),
    _entity("Vera Lindqvist", "PER", 20, "", "Swedish chemist", "Sweden"),
    _entity("Edwin van der Sar", "PER", 55, "van der Sar", "goalkeeper", "Netherlands"),
    _entity("Elizabeth II", "PER", 90, "", "queen of the United Kingdom", "London"),
    # places
    _entity("Germany", "LOC", 95, "", "country in Europe", "Berlin;France"),
    _entity("France", "LOC", 95, "", "country in Europe", "Paris;Germany"),
    _entity("Mexico", "LOC", 90, "", "country south of the United States", "United States"),
    _entity("Sweden", "LOC", 88, "", "country in Europe"),
    _entity("Netherlands", "LOC", 85, "Holland", "country in Europe"),
    _entity("Colombia", "LOC", 80, "", "country in South America"),
    _entity("United States", "LOC", 99, "U.S.;America", "country in North America", "Chicago"),
    _entity("Berlin", "LOC", 90, "", "capital of Germany", "Germany"),
    _entity("Paris", "LOC", 95, "", "capital of France", "France"),
    _entity("London", "LOC", 96, "", "capital of the United Kingdom"),
    _entity("Vienna", "LOC", 85, "Wien", "capital of Austria"),
    _entity("Miami", "LOC", 80, "", "city in Florida", "United States"),
    _entity("Milan", "LOC", 82, "", "city in Italy"),
    _entity("Chicago", "LOC", 90, "", "city in Illinois", "United States"),
    _entity("Ohio", "LOC", 80, "", "state of the United States", "United States"),
    _entity("Rio de Janeiro", "LOC", 84, "Rio", "city in Brazil"),
    _entity("Frankfurt am Main", "LOC", 75, "Frankfurt", "city in Germany", "Germany"),
    _entity("Wimbledon", "LOC", 60, "", "district of London with tennis courts", "London"),
    _entity("St. Louis", "LOC", 70, "", "city in Missouri", "United States"),
    # organisations
    _entity("Inter Milan", "ORG", 75, "Inter", "football club of Milan", "Milan"),
    _entity("Chicago Bulls", "ORG", 80, "Bulls", "basketball team", "Chicago;Michael Jordan"),
    _entity("World Health Organization", "ORG", 85, "WHO", "health agency of the UN"),
    _entity("International Monetary Fund", "ORG", 80, "", "lender to states"),
    _entity("Harvard University", "ORG", 88, "", "university in Massachusetts", "United States"),
    _entity("University of Oxford", "ORG", 88, "", "university in England"),
    _entity("Delta team", "ORG", 5, "", "maintenance crew of the northern plant"),
    _entity("Nimbus Systems", "ORG", 10, "", "maker of weather software", "Vera Lindqvist"),
    _entity("Bergmann Maschinenbau GmbH", "ORG", 10, "", "maker of presses", "Germany"),
    _entity("Halden Foods plc", "ORG", 12, "", "seller of groceries", "London"),
    _entity("Apple Inc.", "ORG", 95, "Apple", "maker of phones and computers", "United States"),
    _entity("Procter & Gamble", "ORG", 70, "P&G", "maker of soap", "United States"),
    _entity("Guns N' Roses", "ORG", 65, "", "rock band", "United States"),
    _entity("Yahoo!", "ORG", 66, "", "web portal", "United States"),
    _entity("Labour Party", "ORG", 70, "Labour", "British party", "London"),
    _entity("Department of Defence", "ORG", 40, "", "ministry of a Commonwealth country"),
    _entity("Deutsche Bank", "ORG", 70, "", "bank in Frankfurt", "Frankfurt am Main"),
    # anything else
    _entity("World War II", "MISC", 97, "", "war from 1939 to 1945", "Germany"),
    _entity("Final Fantasy VII", "MISC", 50, "", "video game"),
    _entity("Kidney Neoplasms, Malignant", "MISC", 20, "", "cancers of the kidney"),
    _entity("von Willebrand disease", "MISC", 25, "", "bleeding disorder"),
    _entity("Hip-hop", "MISC", 60, "", "style of music"),
    _entity("Thriller (album)", "MISC", 60, "Thriller", "album by a pop singer", "Michael Jackson"),
    _entity("The Lord of the Rings", "MISC", 80, "", "fantasy novel", "J. R. R. Tolkien"),
    _entity("Space Jam", "MISC", 40, "", "film with a basketball player", "Michael Jordan"),
    _entity("Windows 95", "MISC", 55, "", "operating system"),
    _entity("Rhine", "LOC", 70, "Rhein", "river in Europe", "Germany"),
)


class Case(NamedTuple):
    """A text with its mentions.

    kind      what it covers
    mentions  start, end, and entity or None for NIL
    any_case  whether names without capitals are detected
    """

    kind: str
    text: str
    mentions: tuple[tuple[int, int, str | None], ...]
    any_case: bool


def _case(kind: str, marked: str, any_case: bool = False) -> Case:
    document = marked_document(kind, marked)
    mentions = tuple((m.start, m.end, m.gold if m.in_kb else None) for m in document.mentions)
    return Case(kind, document.text, mentions, any_case)


CASES = (
    # an unknown full name next to known parts
    _case("unknown name", "Yesterday [[NIL|Jordan Merkel]] opened a bakery."),
    _case("unknown name", "The coach of [[NIL|Inter Miami]] spoke after the match."),
    _case("unknown name", "Fans of [[NIL|AC Milan]] met in [[Milan|Milan]]."),
    _case("unknown name", "He wrote to [[NIL|Peter Falkner]] about the lease."),
    _case("unknown name", "The [[NIL|Obama Jackson Institute]] reported a loss."),
    _case("unknown name", "She studied at the [[NIL|University of Chicago]] for a year."),
    _case("unknown name", "They saw [[NIL|Michael Jordan Falkner]] at the door."),
    _case("unknown name", "Our guest was [[NIL|Paris Wills]], who had come by train."),
    _case("comma list", "He called [[Michael Jordan|Jordan]], [[Angela Merkel|Merkel]] and "
          "[[Barack Obama|Obama]]."),
    _case("comma list", "It rained in [[Paris|Paris]], [[London|London]] and [[Vienna|Vienna]]."),
    _case("place after person", "The winner was [[Serena Wills|Serena Wills]], [[London|London]]."),
    _case("role before name", "[[Chicago Bulls|Chicago Bulls]] coach [[Phil Jackson|Phil Jackson]] "
          "was pleased."),
    _case("role before name", "Former striker [[NIL|Tomas Brand]] now lives in "
          "[[Berlin|Berlin]]."),
    _case("two full names", "In [[Germany|Germany]] Chancellor [[Angela Merkel|Angela Merkel]] "
          "agreed."),
    # particles and initials
    _case("particle", "The painter [[NIL|Ursula von der Heyde]] died last week."),
    _case("particle", "A goal by [[Edwin van der Sar|Edwin van der Sar]] surprised everyone."),
    _case("particle", "It was [[Edwin van der Sar|van der Sar]] who saved the penalty."),
    _case("initials", "The novel by [[J. R. R. Tolkien|J. R. R. Tolkien]] sold well."),
    _case("initials", "The report by [[NIL|K. P. Falkner]] was late."),
    _case("initials", "They trusted [[NIL|John Q. Merkel]] with the keys."),
    # titles and suffixes
    _case("title", "Then President [[Barack Obama|Obama]] left the room."),
    _case("title", "We asked Dr. [[NIL|Falkner]] for advice."),
    _case("title", "A letter from Mrs. [[Angela Merkel|Merkel]] arrived."),
    _case("title", "The speech of Prof. [[NIL|Hanna Obama]] was short."),
    _case("suffix", "A street is named after [[Martin Luther King Jr.|Martin Luther King Jr.]] "
          "there."),
    _case("suffix", "The shares of [[Nimbus Systems|Nimbus Systems]] Inc. fell."),
    _case("suffix", "The presses come from [[Bergmann Maschinenbau GmbH|Bergmann Maschinenbau "
          "GmbH]] as well."),
    _case("suffix variant", "The presses come from [[Bergmann Maschinenbau GmbH|Bergmann "
          "Maschinenbau]] as well."),
    _case("suffix variant", "The shops of [[Halden Foods plc|Halden Foods]] closed early."),
    _case("suffix", "The lawyer of [[NIL|Brand Falkner Ltd]] did not call."),
    # surnames after full names
    _case("surname", "[[NIL|Peter Falkner]] won the race. Later [[NIL|Falkner]] thanked his team."),
    _case("surname", "[[Serena Wills|Serena Wills]] won in [[Paris|Paris]]. The crowd loved "
          "[[Serena Wills|Wills]]."),
    _case("surname variant", "[[Vera Lindqvist|Vera Lindqvist]] mixed the acids. Then "
          "[[Vera Lindqvist|Lindqvist]] left."),
    _case("surname variant", "The concert of [[Ludwig van Beethoven|Beethoven]] was sold out."),
    _case("surname of unknown", "[[NIL|Thomas Merkel]] bakes bread. People like "
          "[[NIL|Merkel]] for his cakes."),
    _case("place of unknown", "[[NIL|Inter Miami]] lost. Nobody in [[Miami|Miami]] was surprised."),
    # quotes
    _case("quotes", 'The film with [[Dwayne Johnson|Dwayne "The Rock" Johnson]] was long.'),
    _case("quotes", "The trial of [[NIL|Peter “Rocket” Falkner]] began."),
    _case("quotes", "They heard [[Guns N' Roses|Guns N' Roses]] and “[[Thriller (album)|Thriller]]"
          "” all night."),
    # hashtags and handles
    _case("hashtag", "What a night #[[Chicago Bulls|ChicagoBulls]] fans"),
    _case("hashtag", "so happy for #[[Angela Merkel|AngelaMerkel]] and #winning"),
    _case("handle", "thanks @[[Barack Obama|BarackObama]] for the book"),
    _case("handle", "ask @peter_f23 about the tickets for [[Paris|Paris]]"),
    # headlines and tables
    _case("capitals", "[[Angela Merkel|MERKEL]] MEETS [[Barack Obama|OBAMA]] IN [[Paris|PARIS]]\n"
          "They talked about trade."),
    _case("capitals", "STORM KILLS TWO IN [[Ohio|OHIO]]\nThe rain went on."),
    _case("title case", "[[Angela Merkel|Merkel]] Meets [[Barack Obama|Obama]] in "
          "[[Paris|Paris]]\nThey talked about trade."),
    _case("title case", "[[Chicago Bulls|Bulls]] Beat Rivals Again After Long Break\nIt was a good "
          "night."),
    _case("table", "[[Michael Jordan|Jordan]]\t[[Angela Merkel|Merkel]]\t12"),
    _case("table", "| [[NIL|Peter Falkner]] | [[Miami|Miami]] | 12 |"),
    _case("table", "[[Phil Jackson|Phil Jackson]]\t[[Chicago|Chicago]]\t9"),
    # lower-case words in names, and lower-case texts
    _case("lower-case word", "Call the [[Delta team|Delta team]] at once."),
    _case("lower-case word", "[[Delta team|Delta team]] repaired the pump."),
    _case("lower-case word", "The Delta of the river is wide."),
    _case("lower case", "we met [[Barack Obama|obama]] in [[Rio de Janeiro|rio de janeiro]]", True),
    _case("lower case", "we met obama in rio de janeiro"),
    # abbreviations
    _case("abbreviation", "The [[International Monetary Fund|International Monetary Fund]] "
          "([[International Monetary Fund|IMF]]) lends. The [[International Monetary Fund|IMF]] "
          "waits."),
    _case("abbreviation", "The [[International Monetary Fund|IMF]] ([[International Monetary "
          "Fund|International Monetary Fund]]) lends money."),
    _case("abbreviation variant", "He has [[von Willebrand disease|von Willebrand disease]] "
          "([[von Willebrand disease|vWD]]). The tests for [[von Willebrand disease|vWD]] failed."),
    _case("abbreviation", "The [[NIL|Falkner Brand Institute]] ([[NIL|FBI]]) closed. The "
          "[[NIL|FBI]] owed money."),
    _case("dotted acronym", "The [[World Health Organization|W.H.O.]] warned [[Mexico|Mexico]]."),
    _case("dotted acronym variant", "A loan from the [[International Monetary Fund|I.M.F.]] came."),
    _case("acronym", "The [[United States|U.S.]] and the [[World Health Organization|WHO]] "
          "agreed."),
    # other spellings
    _case("plural variant", "Patients with [[Kidney Neoplasms, Malignant|Malignant Kidney "
          "Neoplasm]] were asked."),
    _case("word order variant", "Patients with [[Kidney Neoplasms, Malignant|Malignant Kidney "
          "Neoplasms]] were asked."),
    _case("hyphen", "They play [[Hip-hop|Hip hop]] and [[Hip-hop|Hip-Hop]] all day."),
    _case("numeral variant", "My uncle fought in [[World War II|World War 2]] and came back."),
    _case("numeral", "She still plays [[Final Fantasy VII|Final Fantasy VII]] on "
          "[[Windows 95|Windows 95]]."),
    _case("numeral variant", "The court of [[Elizabeth II|Elizabeth 2]] was large."),
    _case("spelling variant", "The [[Department of Defence|Department of Defense]] said nothing."),
    _case("university variant", "She left [[University of Oxford|Oxford University]] early."),
    _case("university variant", "She left the [[Harvard University|University of Harvard]] early."),
    _case("demonym variant", "The [[Germany|German]] team was late."),
    _case("demonym variant", "A [[Sweden|Swedish]] ship sank."),
    # left alone
    _case("left alone", "[[Apple Inc.|Apple]] rose. The company sells phones."),
    _case("left alone", "The [[Ohio|Ohio]] city has a mayor. The Mayor lives in "
          "[[Chicago|Chicago]]."),
    _case("possessive", "[[Angela Merkel|Merkel]]'s cabinet met [[Barack Obama|Obama]]’s envoy."),
    _case("possessive", "The [[Chicago Bulls|Bulls]]' owner sold [[Apple Inc.|Apple]]'s shares."),
    _case("possessive", "[[NIL|Peter Falkner]]'s dog barked."),
    # German and Spanish
    _case("German", "Gestern las [[Angela Merkel|Angela Merkel]] in [[Frankfurt am Main|Frankfurt "
          "am Main]] aus [[Johann Wolfgang von Goethe|Goethe]]."),
    _case("German", "Am Abend sang [[NIL|Karl Freiherr von Brandt]] in [[Berlin|Berlin]]."),
    _case("German", "Das Geld liegt bei der [[Deutsche Bank|Deutsche Bank]] am [[Rhine|Rhein]]."),
    _case("Spanish", "Ayer [[Gabriel García Márquez|Gabriel García Márquez]] leyó a "
          "[[Sor Juana Inés de la Cruz|Sor Juana Inés de la Cruz]]."),
    _case("Spanish", "El alcalde [[NIL|Diego de la Vega]] vive en [[Rio de Janeiro|Rio]]."),
    _case("Spanish", "Un libro de [[NIL|José Ortega y Falkner]] cuesta poco."),
    # sentence starts and words that are no names
    _case("sentence start", "Apple is what he ate. An apple a day helps."),
    _case("sentence start", "When [[Barack Obama|Obama]] came, [[Angela Merkel|Merkel]] left."),
    _case("sentence start", "Meanwhile [[Serena Wills|Serena]] rested in [[Wimbledon|Wimbledon]]."),
    _case("sentence start", "Sadly [[Barack Obama|Obama]] left. Hopefully "
          "[[Angela Merkel|Merkel]] stays."),
    _case("German", "Leider kam Frau [[Angela Merkel|Merkel]] nicht nach [[Berlin|Berlin]]."),
    _case("Spanish", "Después [[Barack Obama|Obama]] vio a la señora [[Angela Merkel|Merkel]]."),
    _case("no name", "On Monday the Board met. In May the Court will decide."),
    _case("no name", "Dear Sir or Madam, please read Chapter Two before Friday."),
    _case("no name", "She said: “Thank you.” He wrote that on Christmas."),
    _case("government", "The State of [[Ohio|Ohio]] sued the Republic of [[France|France]]."),
    _case("government", "The Kingdom of [[Sweden|Sweden]] met the City of [[London|London]]."),
    _case("contraction", "I'll stay, she's gone, and [[Serena Wills|Serena]] doesn't care."),
    _case("contraction", "It’s late. Don’t wait for [[Barack Obama|Obama]]."),
    # surnames
    _case("surname", "[[Michael Jackson|Michael Jackson]] sang, and "
          "[[Michael Jackson|Jackson]] bowed."),
    _case("surname", "[[Phil Jackson|Phil Jackson]] won. [[Phil Jackson|Jackson]] smiled."),
    _case("surname", "[[NIL|Kyle Obama]] bakes bread. [[NIL|Obama]] opens at six."),
    # signs and articles
    _case("signs", "The soap of [[Procter & Gamble|Procter & Gamble]] sold on [[Yahoo!|Yahoo]]."),
    _case("signs", "The train to [[St. Louis|St. Louis]] and [[Chicago|Chicago]]/[[Miami|Miami]]."),
    _case("article", "He reads [[The Lord of the Rings|The Lord of the Rings]] every year."),
    _case("party", "The British [[Labour Party|Labour Party]] lost in [[London|London]]."),
)  # fmt: skip
