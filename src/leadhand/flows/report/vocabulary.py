"""The words by which the checks of reports read English, German, French and Spanish."""

from __future__ import annotations

import re


def _words(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


# Where sentences end.
ABBREVIATIONS = _words(
    "e.g i.e eg ie cf vs approx ca circa dr prof mr mrs ms st eds al dept resp incl excl avg viz jan feb aug sept",
    "bzw vgl z.b d.h u.a o.ä i.d.r ggf evtl inkl exkl sog bspw zzgl abzgl mio mrd tsd hrsg tel geb zb dgl okt",
    "env mme mlle n.b p.ex chap janv févr réf sr sra srta ud uds p.ej aprox dra d.c a.c",
)
"""Words before a point that does not end a sentence."""
BEFORE_NUMBER = _words(
    "no nos nr fig figs eq ch sec vol ed p pp abb tab kap s art str bd av pág págs núm n max min",
)
"""Abbreviations before a number; elsewhere, each of them may be a word that ends a sentence."""
CLOSING = _words("etc usw a.m p.m inc ltd co corp u.s u.k e.u ee.uu jr")
"""Abbreviations that may end a sentence: one begins where a capital letter follows."""
BEGINNERS = _words(
    "the a an in it its this that these those they he she we there for as at on by if when while but however",
    "der die das ein eine es sie er wir dies diese dieser im bei mit für auf wenn aber jedoch",
    "le la les un une il elle ils elles nous ce cette ces en dans pour mais",
    "el los las una unos se este esta estos estas pero para con",
)
"""Words that begin sentences more often than names."""
BEFORE_ORDINAL = _words(
    "am im der die das den dem des vom zum zur bis ab seit beim jeder jede und ihr ihre ihren sein seine seinen"
)
AFTER_ORDINAL = _words(
    "jahrhundert jahrhunderts jh auflage platz kapitel etage stock lebensjahr tag woche mal jahrestag gesetz ausgabe"
)

# What words say little.
FUNCTION_WORDS = {
    "en": _words(
        "the of and to in is are was were that for with from this than which their has have been by at on it its as an",
        "or be not but they into per more most also between these those when while about over under out",
    ),
    "de": _words(
        "der die das und ist sind den dem ein eine einer eines einem einen mit für von zu im auf nicht als auch wird",
        "werden bei nach wurde wurden sich oder aus durch zum zur sie es hat haben war waren dass diese dieser mehr",
    ),
    "fr": _words(
        "le la les de des un une est sont dans pour que qui par sur avec au aux du ne pas plus ce cette ces il elle et",
        "ont été être leur leurs mais ou en se son sa ses entre était",
    ),
    "es": _words(
        "el la los las de una uno un es son del para que con por se al lo su sus más pero como este esta han ha fue",
        "entre sobre cuando en no muy también desde hasta y o",
    ),
}
_GENERAL = _words("first last year years month months day days average total roughly around never soit")
EMPTY = _GENERAL.union(*FUNCTION_WORDS.values())
ORDINARY = _words(
    "celsius fahrenheit kelvin watt watts euro euros dollar dollars internet christmas easter western eastern northern",
    "southern north south east west central kwh mwh cop scop",
)
"""Words with a capital letter that are not names."""

_COUNTRIES = """
    germany german deutsch allema alema
    austria österreich autrich
    switzerland swiss schweiz suisse suiza suizo
    france french frankreich französisch français francia francés
    spain spanish spani espagn españ
    italy italian italien italie itali
    portug
    poland polish polen polnisch polog polon polac
    netherlands dutch niederl pays-bas néerland holland
    belgi
    denmark danish dänemark dänisch danemark danois dinamarca danés
    sweden swedish schwed suède suédois suecia sueco sueca
    norway norwegian norweg norvèg norvég noruega noruego
    finland finnish finnland finnisch finlandia
    ireland irish irland irisch
    britain british briti grande-bretagne royaume
    czech tschech tchèque chec
    hungar ungar hongr
    greece greek griech grèce grec grieg
    china chinese chines chine chinois
    japan japanes japon japón
    canad kanad
    austral
    brazil brasil brésil
    indien indian
    turkey turkish türk turqui
    russi russland
    estonia estland
    mexic mexik mexiq
"""
COUNTRIES = [tuple(line.split()) for line in _COUNTRIES.strip().splitlines()]
"""Beginnings of the names of a country and of its people."""


# What says the opposite.
def any_of(words: str) -> re.Pattern[str]:
    """Return a pattern for any of these words, which are parts of a pattern with | between them."""
    return re.compile(rf"\b(?:{'|'.join(words.strip().split('|'))})\b", re.IGNORECASE)


_OPPOSITES = """
    rose|ris(?:es|en|ing|e)|rais(?:e|es|ed|ing)|increas\\w*|grew|grow\\w*|climb\\w*|gain\\w*|strengthen\\w*
    |surg\\w+|jump\\w*|soar\\w*|doubl\\w*|tripl\\w*|expand\\w*|widen\\w*|accelerat\\w*|gestiegen|stieg\\w*
    |steig\\w*|zugenommen|zunahm\\w*|erhöh\\w*|wuchs\\w*|wachs\\w*|gewachsen|augment\\w*|hausse|progress\\w+
    |cr[ûu]\\w*|aument\\w*|subi[óe]\\w*|creci\\w+|crec[eí]\\w*
    fell|fall(?:s|en|ing)?|lower(?:s|ed|ing)|cut(?:s|ting)?|decreas\\w*|declin\\w*|dropp?\\w*|shr[aiu]nk\\w*
    |weaken\\w*|plung\\w+|slump\\w*|halv\\w+|narrow\\w*|slow(?:s|ed|ing)|gesunken|sank|sanken|sink\\w*|senk\\w*
    |gesenkt|fielen|fiel|gefallen|abgenommen|abnahm\\w*|schrumpf\\w*|zurückgegangen|verringer\\w*|réduit\\w*
    |réduc\\w*|redu[cj]\\w*|baiss\\w*|diminu\\w*|recul\\w*|chut\\w+|disminuy\\w*|baj[oóa]\\w*|cay\\w*|descend\\w+
    import\\w*|eingeführt
    export\\w*|ausgeführt
    above|exceed\\w*|at least|minimum|mindestens|au moins|al menos|como mínimo
    |(?:more than|mehr als|plus de|más de)(?= (?:[€$£]|the |den )?\\d)
    below|at most|höchstens|maximal|maximum|au plus|como máximo
    |(?:(?<!no )(?:less|fewer) than|weniger als|moins de|menos de)(?= (?:[€$£]|the |den )?\\d)
    more (?:\\w+ ){0,6}?than(?! [€$£]?\\d)|mehr (?:\\w+ ){0,3}?als(?! \\d)
    |plus (?:\\w+ ){0,3}?que|más (?:\\w+ ){0,3}?que
    (?:less|fewer) (?:\\w+ ){0,6}?than(?! [€$£]?\\d)|weniger (?:\\w+ ){0,3}?als(?! \\d)
    |moins (?:\\w+ ){0,3}?que|menos (?:\\w+ ){0,3}?que
    east\\w*|ost\\w*|östlich\\w*|l['’]est|este
    west\\w*|l['’]ouest|oeste
    north\\w*|nord\\w*|nördlich\\w*|norte
    south\\w*|süd\\w*|sud|sur(?= de\\b)
    times (?:as (?:much|many)|more)
    times (?:less|fewer)
    before|avant|antes de
    after|après|después de
    cheaper|günstiger|billiger|moins chère?s?|más barat[ao]s?
    more expensive|dearer|costlier|teurer|plus chère?s?|más car[ao]s?
    faster|as fast|schneller|plus rapides?|más rápid[ao]s?
    slower|as (?:slow|long)|langsamer|plus lente?s?|más lent[ao]s?
    later|später|plus tard|más tarde
    earlier|früher|plus tôt|más temprano
    louder|lauter|plus bruyante?s?|más ruidos[ao]s?
    quieter|leiser|moins bruyante?s?|plus silencieu\\w+|más silencios[ao]s?
    larger|bigger|higher|größer\\w*|höher\\w*|plus grande?s?|plus élevée?s?|supérieure?s?|mayor(?:es)?
    smaller|lower|kleiner\\w*|niedriger\\w*|geringer\\w*|plus petite?s?|plus faibles?|inférieure?s?|menor(?:es)?
    allow\\w*|permit(?:s|ted)?|legal|erlaubt\\w*|zulässig\\w*|autorisée?s?|permitid[ao]s?|permite\\w*
    ban(?:s|ned)?|prohibit\\w*|forbid\\w*|illegal|verboten\\w*|unzulässig\\w*|interdite?s?|prohibid[ao]s?|prohíbe\\w*
    improv\\w*|verbesser\\w*|amélior\\w*|mejor\\w*
    worsen\\w*|deteriorat\\w*|verschlechter\\w*|dégrad\\w*|empeor\\w*
    \\d+(?:[.,]\\d+)?\\s?(?:%|percent|prozent)\\s(?:more|mehr|de plus|más)
    \\d+(?:[.,]\\d+)?\\s?(?:%|percent|prozent)\\s(?:less|fewer|weniger|de moins|menos)
    shorter|kürzer\\w*|plus courte?s?|más cort[ao]s?
    longer|taller|länger\\w*|plus longue?s?|plus hautes?|más larg[ao]s?|más alt[ao]s?
    older|älter\\w*|plus (?:âgée?s?|vieux|anciens?)|mayores|más antigu[ao]s?
    younger|newer|jünger\\w*|neuer|plus (?:jeunes?|récente?s?)|más jóven\\w*|más recientes?
    warmer|hotter|wärmer\\w*|plus chaude?s?|más (?:cálid|calient)\\w*
    colder|cooler|kälter\\w*|plus froide?s?|más frí[ao]s?
    stronger|stärker\\w*|plus forte?s?|más fuertes?
    weaker|schwächer\\w*|plus faibles?|más débil\\w*
    more often|more frequent\\w*|öfter|häufiger\\w*|plus souvent|plus fréquen\\w+|más (?:a menudo|frecuente\\w*)
    less often|less frequent\\w*|seltener\\w*|moins souvent|moins fréquen\\w+|menos (?:a menudo|frecuente\\w*)
    highest|largest|biggest|greatest|höchste\\w*|größte\\w*|la plus (?:haute|élevée|grande)|le plus (?:haut|élevé|grand)
    lowest|smallest|niedrigste\\w*|geringste\\w*|kleinste\\w*|la plus (?:basse|faible|petite)|le plus (?:bas|petit)
    oldest|earliest|älteste\\w*|früheste\\w*
    youngest|newest|latest|jüngste\\w*|neueste\\w*|späteste\\w*
    provisional\\w*|preliminary|vorläufig\\w*|provisoire\\w*|provisional(?:es)?|preliminar(?:es)?
    final|definitive|endgültig\\w*|définiti\\w+|definitiv[ao]s?
    temporar\\w+|vorübergehend\\w*|befristet\\w*|temporaire\\w*|temporal\\w*
    permanent\\w*|dauerhaft\\w*|unbefristet\\w*|définitivement|permanente\\w*
    in favou?r of|supports?|supported|befürwort\\w*|unterstütz\\w*|favorables?|soutien\\w*|a favor|apoya\\w*
    against|oppos(?:es?|ed|ing)|ablehn\\w*|lehn\\w* ab|contre|oppos\\w+|en contra|opone\\w*|contra
    approv\\w+|accept\\w*|adopted|genehmig\\w*|angenommen|approuv\\w*|accepté\\w*|aprob\\w+|acept\\w+
    reject\\w*|refus\\w+|turned down|abgelehnt|verweiger\\w*|rejet\\w*|rechaz\\w+|neg(?:ó|aron)
    inside|indoor\\w*|innerhalb|drinnen|à l['’]intérieur|dentro
    outside|outdoor\\w*|außerhalb|draußen|à l['’]extérieur|fuera
    won|wins?|victory|gewann\\w*|gewonnen|sieg\\w*|remport\\w*|gagn\\w*|gan[óa]\\w*|vencid?\\w*
    lost|loses?|defeat\\w*|verlor\\w*|niederlage|perd\\w+|défaite|perdi\\w+|derrot\\w+
    profits?|surplus|gewinn\\w*|überschuss|bénéfices?|excédent\\w*|beneficios?|ganancias?|superávit
    loss|deficit|verlust\\w*|defizit\\w*|pertes?|déficit|pérdidas?
    begin\\w*|began|start(?:s|ed)?|open(?:s|ed)?|introduc\\w+|beginn\\w*|begann\\w*|eröffne\\w*|commenc\\w+|ouv(?:re|ert)\\w*
    |empez\\w+|empiez\\w+|comenz\\w+|abri[óe]\\w*
    end(?:s|ed|ing)?|clos(?:es|ed|ing)|abolish\\w*|endet\\w*|schließ\\w*|geschlossen|abgeschafft|termin\\w+|ferm(?:é|e)\\w*
    |aboli\\w*|cerr[óa]\\w*
    landing|landed|arriv\\w+|landung|gelandet|ankunft|atterri\\w*|arrivée|aterri\\w+|llegada
    take-?off|took off|depart\\w*|start|gestartet|abflug|abfahrt|décoll\\w*|départ|despeg\\w+|salida
    success\\w*|succeed\\w*|erfolgreich\\w*|réussi\\w*|exitos\\w+
    fail\\w*|unsuccessful\\w*|gescheitert|erfolglos\\w*|échou\\w*|fracas\\w+
    include[sd]?|including|einschließlich|inklusive|inclu\\w+
    exclud\\w+|excluding|except|without|ausgenommen|ohne|exclu[st]\\w*|sauf|except\\w+|sin
    majority|mehrheit|majorité|mayoría
    minority|minderheit|minorité|minoría
    rural\\w*|ländlich\\w*|ruraux
    urban\\w*|städtisch\\w*|urbain\\w*
    winter\\w*|hiver|invierno
    summer\\w*|sommer\\w*|été|verano
    mandatory|compulsory|required|verpflichtend|vorgeschrieben|obligatoires?|obligatori[ao]s?
    voluntary|optional|freiwillig|facultati\\w+|volontaires?|voluntari[ao]s?|opcional(?:es)?
"""
_LINES = [any_of(line) for line in _OPPOSITES.replace("\n    |", "|").strip().splitlines()]
OPPOSITES = list(zip(_LINES[::2], _LINES[1::2], strict=True))
NEGATIONS = {
    "en": any_of(r"not|no|never|cannot|neither|nor|none|nothing|nobody|\w+n['’]t|fail(?:s|ed) to"),
    "de": any_of(r"nicht|nichts|kein\w*|nie|niemals|niemand|weder"),
    "fr": any_of(r"pas|jamais|aucune?|ni"),
    "es": any_of(r"no|nunca|jamás|ning[uú]n\w*|tampoco|ni"),
}
ALL = any_of(
    r"all|every\w*|each|always|none|nobody|no one|whole|entire\w*|alle[nrs]?|jede[nrsm]?|sämtliche\w*|immer|niemand|"
    r"tous|toutes|toujours|personne|tout le monde|todos|todas|siempre|nadie"
)
_FEW = "one|two|three|four|five|six|seven|eight|nine|ten"
_PARTS = (
    r"|\d+ (?:of|out of|von|sur|de) (?:\w+ )?(?:\w+['’]s )?\w*\d+"
    rf"|(?:\d+|{_FEW}) (?:in|out of|of) (?:the |its |their |her |his )?(?:\w+['’]s )?(?:\d+|{_FEW})"
    r"|(?:of|von|sur|de) [^.,;\d]{0,40}\d+[^.,;\d]{0,40}, (?:only )?\d+"
    r"|jede\w? (?:zweite|dritte|vierte|fünfte|sechste|zehnte)\w*"
    r"|(?:a|one|two|three|four|ein|zwei|drei|un|une|deux|trois|dos|tres) (?:half|halves|thirds?|quarters?|fifths?"
    r"|tenths?|drittel|viertel|fünftel|zehntel|tiers|quarts?|tercios?|cuartos?)|per cent"
    r"|\d+(?:[.,]\d+)?\s?%(?!\w)(?=\W)"
)
PARTLY = any_of(
    r"some|most|many|several|few|only|just|part of|not all|not every\w*|nearly all|almost all|majority|half|mostly|"
    r"often|sometimes|up to|einige|manche|viele|meisten|mehrere|nur|teil der|nicht alle|fast alle|oft|hälfte|quelques|"
    r"certain\w*|plupart|beaucoup|souvent|moitié|algun\w+|much[ao]s|mayor[ií]a|vari[ao]s|sol[oa]|mitad|"
    r"\d+ (?:of|out of|von|sur|de) (?:the |den |les |los |las )?\d+|\d+(?:[.,]\d+)?\s?(?:percent|prozent)|percent"
    + _PARTS
)
"""Words for everything of a sort, and for a part of it."""
MOST = any_of(
    r"most(?= (?:of|\w+s)\b)|majority|mehrheit|die meisten|plupart|majorité|mayoría|more than half|mehr als die hälfte"
)
"""Words for more than half."""
CONTRAST = re.compile(
    r"(?:,\s*(?:not|nicht|pas|no)|\b(?:rather than|instead of|statt|anstatt|au lieu d[e’']|en vez de|en lugar de))\s+"
    r"([^.,;:]{3,60}?)(?=[.,;:]|$|\s(?:as|when|since|because|that|wie|als|da|comme|como|cuando)\b)",
    re.IGNORECASE,
)
"""What is excluded: "by the foundation, not by the ministry"."""


# Who says something.
ATTRIBUTED = re.compile(
    r"\b(?:according to"
    r"|(?:a|one|the|this|recent|new|several|many|some|\d{4}) (?:\w+ )?"
    r"(?:stud(?:y|ies)|survey|report|analysis|trial|experts?|researchers?|scientists?)(?: \w+){0,6}? "
    r"(?:shows?|showed|found|finds?|suggests?|suggested|says?|said|concluded?|estimated?|confirm(?:s|ed)?|warn(?:s|ed))"
    r"|(?:studies|experts|researchers|scientists|surveys) (?:show|found|find|suggest|say|agree|warn|estimate)"
    r"|laut \w+"
    r"|(?:eine|die|neue|mehrere) (?:\w+ )?(?:studien?|umfragen?|untersuchung(?:en)?) (?:\w+ ){0,4}?"
    r"(?:zeigt|zeigen|ergab|belegt|belegen)"
    r"|(?:experten|fachleute|forscher) (?:sagen|schätzen|warnen|fanden)"
    r"|(?:selon|d['’]après) (?:un|une|la|le|les|des)\b"
    r"|une étude (?:\w+ ){0,5}?(?:montre|a montré)"
    r"|según (?:un|una|la|el|los|las)\b"
    r"|un estudio (?:\w+ ){0,5}?(?:muestra|demostró|señala))",
    re.IGNORECASE,
)
"""Words that ascribe a statement to somebody: such a sentence needs a citation."""
REPORTED = re.compile(
    r"\b(?:sa(?:y|ys|id)|blam\w+|attribut\w+|credit(?:s|ed)?|want(?:s|ed)?|demand\w*|expect\w*|doubt\w*|claim\w*|fear\w*|"
    r"complain\w*|warn\w*|caution\w*|argu\w+|calls|puts|disput\w+|critici\w+|welcom\w+|according to|"
    r"sag(?:t|en|te|ten)|forder[nt]\w*|will|wollen|bezweifel\w*|zweifel\w*|hält|halten|meint|meinen|erwarte\w*|verlang\w*|"
    r"kritisier\w*|begrüß\w*|befürcht\w*|laut|plai(?:nt|gn\w+)|assur\w+|affirm\w+|dénonc\w+|crai(?:nt|gn\w+)|"
    r"demand\w+|accus\w+|selon|celebr\w+|advier\w+|advert\w+|atribu\w+|culpa\w*|tem(?:e|en)|pid(?:e|en)|exig\w+|critic\w+|"
    r"según|thinks?|thought|believes?|believed|notes?|noted|adds?|added|explain\w*|suggests?|suggested|replie[sd]|responds?|insist\w*|"
    r"den(?:y|ies|ied)|conclud\w*|observ\w*|glaub\w*|denk\w*|nenn(?:t|en|te)|führ(?:t|en|te)|sieht|sehen|antwort\w*|erklär\w*|"
    r"beton\w*|vermut\w*|pense\w*|croi(?:t|ent)|penche\w*|répond\w*|expliqu\w*|ajout\w*|juge\w*|considèr\w*|estime(?:nt)?|"
    r"piensa\w*|cree\w*|responde\w*|explica\w*|añad\w*|cuenta\w*|considera\w*|opina\w*|sostien\w*|asegur\w*|afirm\w*|niega\w*)\b",
    re.IGNORECASE,
)
VAGUE = re.compile(r"\b(?:it|this|das|dies|davon|daran|cela|ça|lo|eso)\b", re.IGNORECASE)
REST = re.compile(
    r"\b(?:remain\w*|rest|others?|not|without|übrig\w*|restlich\w*|nicht|kein\w*|ohne|reste\w*|autres?|pas|demás|no|sin)\b",
    re.IGNORECASE,
)
"""Words with which a share is what another one leaves."""

OVER = re.compile(
    r"\b(?:(?:more|mehr|greater) (?:than|als)|over|above|at least|exceed\w*|a good|well over|über|gut|mindestens|"
    r"plus d['’e]|au moins|plus de la|más de|al menos|upwards of)\s*(?:the |la |el |ein |eine )?[€$£]?\s*$",
    re.IGNORECASE,
)
UNDER = re.compile(
    r"\b(?:(?:less|fewer|weniger) (?:than|als)|under|below|nearly|almost|close to|at most|up to|just short of|unter|"
    r"fast|knapp|höchstens|bis zu|moins d['’e]|près d['’e]|presque|au plus|jusqu['’]à|menos de|casi|hasta|como máximo)"
    r"\s*(?:the |la |el |ein |eine |der |die )?[€$£]?\s*$",
    re.IGNORECASE,
)
"""Words before a figure that is a bound."""


# Units.
def _sizes(table: str) -> dict[str, tuple[str, float]]:
    """What each unit measures, and how many of the base unit one of it is."""
    found: dict[str, tuple[str, float]] = {}
    for line in table.strip().splitlines():
        kind, _, units = line.strip().partition(": ")
        for group in units.split("; "):
            *names, size = group.split()
            found |= dict.fromkeys(names, (kind, float(size)))
    return found


PERIODS = {
    word: seconds
    for seconds, words in (
        (1.0, "second sekunde seconde segundo"),
        (60.0, "minute minuto"),
        (3600.0, "hour hourly stunde stündlich heure hora"),
        (
            86400.0,
            "day daily night nightly tag täglich nacht jour nuit quotidien quotidienne día noche diario diaria",
        ),
        (604800.0, "week weekly woche wöchentlich semaine semana semanal"),
        (2629800.0, "month monthly monat monatlich mois mensuel mensuelle mes mensual"),
        (31557600.0, "year yearly annual annually jahr jährlich an année annuel annuelle año anual"),
    )
    for word in words.split()
}
"""Words for what a rate may be for, and adverbs of them, in seconds."""
UNITS = _sizes("""
    share: % percent prozent pct porcentaje 1; ‰ promille 0.1
    points: points point percentage pp prozentpunkt prozentpunkte prozentpunkten puntos 1
    celsius: °c celsius kelvin 1
    fahrenheit: °f fahrenheit 1
    degrees: ° degrees degree grad degrés grados 1
    euro: € eur euro euros 1; cent cents ct centimes céntimos 0.01
    dollar: $ usd dollar dollars dólares 1
    pound: £ gbp pound pounds 1
    franc: chf francs franken 1
    yen: ¥ yen 1
    energy: wh 0.001; kwh kilowattstunde kilowattstunden 1
    energy: mwh megawattstunde megawattstunden 1e3; gwh 1e6; twh 1e9; mj 0.2777778; gj 277.7778
    power: w watt watts 0.001; kw kilowatt kilowatts 1; mw megawatt megawatts 1e3; gw gigawatt gigawatts 1e6
    time: ms 0.001; s sec second seconds sekunden secondes segundos 1; min mins minute minutes minuten minutos h:min 60
    time: h hr hrs hour hours std stunde stunden heure heures hora horas 3600
    time: day days tag tage tagen jour jours día días 86400
    time: night nights nacht nächte nuit nuits noche noches 86400
    time: week weeks woche wochen semaine semaines semana semanas 604800
    time: month months monat monate monaten mois mes meses 2629800
    time: year years jahr jahre jahren ans année années año años 31557600
    time: decade decades jahrzehnt jahrzehnte jahrzehnten décennie décennies década décadas 315576000
    length: mm millimetres millimeters millimeter 0.001; cm centimetres centimeters zentimeter 0.01
    length: m metre metres meter metern meters mètres metros 1; ft foot feet 0.3048; inch inches zoll 0.0254
    length: km kilometre kilometres kilometer kilometern kilometers kilomètres kilómetros 1e3
    length: mi mile miles meilen millas 1609.344; nautical nmi sm seemeilen 1852
    area: acre acres 4046.86; sqmi 2589988
    area: m² m2 qm quadratmeter quadratmetern 1; ha hectare hectares hektar hectáreas 1e4; km² km2 1e6
    mass: mg 1e-6; g gram grams gramm 0.001; kg kilogram kilograms kilogramm kilogramme kilo kilos 1; lb lbs 0.45359237
    mass: oz ounce ounces 0.0283495
    mass: t ton tons tonne tonnes tonnen tonelada toneladas 1000; mt 1e9
    volume: ml 0.001; l litre litres liter liters litros 1; m³ m3 kubikmeter 1000
    speed: km/h kmh 1; m/s 3.6; km/s 3600; mph 1.609344; kn kt kts knot knots knoten nœuds nudos 1.852
    data: kb kilobytes 1e3; mb megabyte megabytes 1e6; gb gigabyte gigabytes 1e9; tb terabyte terabytes 1e12
    bits: kbit kilobits 1e3; mbit megabit megabits 1e6; gbit gigabit gigabits 1e9; tbit terabit terabits 1e12
    data: pb petabyte petabytes 1e15
    pixels: megapixel megapixels mp 1; gigapixel gigapixels 1e3
    rupee: ₹ inr rupee rupees rupien roupies rupias 1
    crown: sek nok dkk krona kronor krone kroner kronen couronnes coronas 1
    yuan: cny rmb yuan renminbi 1
    peso: peso pesos 1
    zloty: pln zloty złoty 1
    guinea: guinea guineas 1
    shilling: shilling shillings 1
    sound: db dezibel decibel decibels décibels decibelios 1
    voltage: v volt volts 1; kv 1e3
    frequency: hz hertz 1; khz 1e3; mhz 1e6; ghz 1e9
    pressure: pa 1; hpa 100; bar 1e5
""")
SCALES = _words(
    "hundred thousand million millions billion billions trillion k tausend mio mn millionen mrd bn milliarden mille",
    "milliard milliards millones mil de of us schweizer metric",
)
"""Words between a number and its unit: 12 million euros."""
